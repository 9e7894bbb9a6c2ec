"""The pages in docs/ and the README: their paths, links, commands and examples are valid."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gpulab.cli import build_parser

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
GENERATED = (
    "my-labs/",
    "demo/",
    "share/jupyter/",
    "grading/work/",
    "labs/04_transpose/",
    "grading/sample_class/04_transpose/",
)
EXAMPLES = {"FILE.cu", "expected.toml", "kernel.cu", "naive.cu", "problem.py", "roofline.png"}


def path_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def named_paths(page: Path) -> Iterator[str]:
    """Return the words in code type that look like a file or a folder of the repository."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for code in CODE.findall(text):
        for word in code.split():
            if PATH.fullmatch(word) and word not in EXAMPLES and not word.startswith(GENERATED):
                yield word


def indented_blocks(page: Path) -> list[str]:
    """Return the blocks of a page that are indented by four spaces, without the indentation."""
    found = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [textwrap.dedent(block).strip("\n") for block in found]


def commands(page: Path, program: str) -> list[str]:
    """Return the command lines of a page that start with a program, in code type or in an indented block."""
    lines = CODE.findall(page.read_text(encoding="utf-8"))
    lines += [line.partition("  #")[0] for block in indented_blocks(page) for line in block.splitlines()]
    return [line for line in lines if line.startswith(f"{program} ") and "COMMAND" not in line]


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


def test_gpulab_commands_of_the_readme_are_accepted() -> None:
    lines = commands(ROOT / "README.md", "gpulab")
    assert lines
    for line in lines:
        build_parser().parse_args(shlex.split(line)[1:])  # exits for a command that does not exist


def test_make_targets_of_the_readme_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {line.split()[1] for line in commands(ROOT / "README.md", "make")} <= set(targets)


def test_simulator_example_of_the_readme_prints_what_its_comments_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (example,) = (block for block in indented_blocks(ROOT / "README.md") if "histogram" in block)
    exec(example, {})
    assert capsys.readouterr().out.splitlines()[:2] == ["no errors found", "4.0"]
