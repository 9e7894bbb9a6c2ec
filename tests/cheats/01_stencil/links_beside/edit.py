def place(folder):
    for name, target in {
        "solutions": "../../../../labs",
        "root": "/",
        "gradebook.db": "../../gradebook.db",
        "given": "/etc",
    }.items():
        (folder / name).symlink_to(target)
