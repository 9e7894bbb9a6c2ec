"""The pages in docs/ and the README: every file and page that they name exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
# Folders that a path in the text may start from: the repository, the package, and the page's own folder.
ANCHORS = (ROOT, ROOT / "src" / "gpulab")
SUFFIXES = ("py", "md", "toml", "ll", "ipynb", "yml", "cu", "svg", "png")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"[\w.-]+(?:/[\w.-]+)*/?(?<=/)|(?:[\w.-]+/)*[\w-]+\.(?:{'|'.join(SUFFIXES)})")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# Folders that commands make, and files that examples write.
GENERATED = ("my-labs/", "demo/", "share/jupyter/", "grading/work/")
EXAMPLES = {"FILE.cu", "kernel.cu", "roofline.png"}


def path_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def named_paths(page: Path) -> Iterator[str]:
    """Return the words in code type that look like a file or a folder of the repository."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for code in CODE.findall(text):
        for word in code.split():
            if PATH.fullmatch(word) and word not in EXAMPLES and not word.startswith(GENERATED):
                yield word


def links(page: Path) -> Iterator[str]:
    """Return the targets of links, without those on the web."""
    yield from (target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target)


@cache
def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", PAGES, ids=path_id)
def test_paths_in_code_type_exist(document: Path) -> None:
    anchors = (*ANCHORS, document.parent)
    missing = [
        path for path in named_paths(document) if not any((anchor / path).exists() for anchor in anchors)
    ]
    assert missing == []


@pytest.mark.parametrize("document", PAGES, ids=path_id)
def test_links_lead_to_files_and_headings(document: Path) -> None:
    for target in links(document):
        file, _, heading = target.partition("#")
        goal = (document.parent / file).resolve() if file else document
        assert goal.exists(), target
        assert not heading or heading in headings(goal), target


def test_every_page_is_reachable_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = ((page.parent / target.partition("#")[0]).resolve() for target in links(page))
        waiting += [target for target in targets if target.suffix == ".md" and target.exists()]
    assert {path_id(page) for page in PAGES} <= {path_id(page) for page in reached}
