SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(1)>"
FORMULA = r"$\href{javascript:alert(1)}{blocks}$"
predicted_idle = {
    "blocks": SCRIPT,
    "threads": IMAGE,
    "no_point": FORMULA,
    SCRIPT: 1,
    IMAGE: 2,
    FORMULA: 3,
    "</td></tr></table><svg onload=alert(1)>": 4,
    "<a href=javascript:alert(1)>": 5,
    "\ud800 \u202e": 6,
}
