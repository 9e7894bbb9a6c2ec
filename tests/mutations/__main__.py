"""Entry point of `python -m tests.mutations [NAME ...]`: run planted mistakes, write docs/mistakes.md.

With names, such as `stencil/opt_1`, only the exercises that contain one of them run, and the page is not
written. The exit status is 1 if a mistake passes or if its message does not name it.
"""

from __future__ import annotations

import sys

from tests.mutations.checking import message_of
from tests.mutations.mutations import exercises
from tests.mutations.page import PAGE, page


def main(names: list[str]) -> int:
    """Run the mistakes of the named exercises, or of all, and return the exit status."""
    chosen = [e for e in exercises() if not names or any(name in e.id for name in names)]
    messages, misses = {}, 0
    for exercise in chosen:
        for mutation in exercise.mutations:
            message = message_of(mutation.lab, mutation.exercise, mutation.text)
            missing = [fragment for fragment in mutation.fragments if fragment not in message]
            misses += bool(missing)
            print(f"{'MISS' if missing else 'ok  '} {exercise.id}: {mutation.name}")
            if missing or names:
                print("".join(f"       {line}\n" for line in (message or "(it passes)").splitlines()), end="")
            messages[mutation] = message
    print(f"{len(messages)} mistakes in {len(chosen)} exercises, {misses} without their message.")
    if not names and not misses:
        PAGE.write_text(page(messages), encoding="utf-8")
    return int(misses > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
