ablation = {"naive_helped_most_by": None, "opt_3_with_cap": None, "opt_3_split": None, "fastest_at_32": None}
ablation = {
    "naive_helped_most_by": "register cap",
    "opt_3_with_cap": "same",
    "opt_3_split": "faster",
    "fastest_at_32": "naive",
}
