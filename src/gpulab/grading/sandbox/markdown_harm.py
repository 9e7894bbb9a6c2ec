"""The harmful constructs of a Markdown text, found by nbconvert's own renderer, and their source as text."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from gpulab.grading.sandbox.safe_text import MATHJAX_MACRO

__all__ = ["escape_markup", "harmful_constructs"]

LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
# Only files in the folder of the notebook: a browser requests the address of an image without a click.
IMAGE_FILE = re.compile(r"(?!.*\.\.)[\w][\w./%-]*\.(?:png|jpe?g|gif|svg)", re.IGNORECASE)
ATTACHMENT = "attachment:"

# A character that can begin an HTML element, a link or the address of a reference, with the entity that
# shows it as text. Addresses in angle brackets are no HTML. A backslash and the next character are skipped:
# they are text already.
MARKUP = re.compile(
    r"\\[\s\S]|(?P<begin><(?=[A-Za-z/!?])(?!(?:https?://|mailto:)[^\s<>]*>)|(?<=\])[(:])", re.IGNORECASE
)
ENTITIES = {"<": "&lt;", "(": "&#40;", ":": "&#58;"}
FIRST_MARK = 0xF0000  # a plane of private characters, one for each character that may begin a construct
MARK = re.compile("[\U000f0000-\U0010ffff]")


def harmful_constructs(text: str, attachments: Mapping[str, Any]) -> set[str]:
    """Return the kinds of harmful constructs that nbconvert renders from a Markdown text."""
    renderer = HarmRecorder(attachments)
    try:
        page = MarkdownWithMath(renderer=renderer).render(text)
    except Exception:  # noqa: BLE001  # a parser that fails here would fail in nbgrader, too
        return {"unreadable"}

    harm = renderer.harm
    if MATHJAX_MACRO.search(html.unescape(page)):
        harm.add("macro")
    return harm


def escape_markup(text: str, attachments: Mapping[str, Any]) -> str:
    """Return a text in which HTML, links and images show as they were typed.

    Characters in code and in formulas are kept: nbconvert escapes them, and would show an entity there. A
    text that nbconvert cannot parse is returned unchanged.
    """
    begins: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match["begin"] is None:
            return match[0]
        begins.append(match["begin"])
        return chr(FIRST_MARK + len(begins) - 1)

    # The parser takes the private characters for letters, so that what they began is text now.
    marked = MARKUP.sub(mark, MARK.sub("?", text))
    finder = TextFinder(attachments)
    try:
        MarkdownWithMath(renderer=finder).render(marked)
    except Exception:  # noqa: BLE001  # as in `harmful_constructs`
        return text

    def unmark(match: re.Match[str]) -> str:
        begin = begins[ord(match[0]) - FIRST_MARK]
        return ENTITIES[begin] if match[0] in finder.marks else begin

    return MARK.sub(unmark, marked)


class TextFinder(IPythonRenderer):  # type: ignore[misc, unused-ignore]
    """nbconvert's renderer, which also notes the private characters that it renders as plain text.

    Attributes
    ----------
    marks : set of str
        These characters.
    """

    def __init__(self, attachments: Mapping[str, Any]) -> None:
        super().__init__(escape=False, attachments=dict(attachments))
        self.marks: set[str] = set()

    def text(self, text: str) -> str:
        self.marks.update(MARK.findall(text))
        return str(super().text(text))


class HarmRecorder(IPythonRenderer):  # type: ignore[misc, unused-ignore]
    """nbconvert's renderer, which also notes the harmful constructs that it renders.

    Attributes
    ----------
    harm : set of str
        ``"html"``, ``"link"``, ``"mermaid"`` and ``"attachment"``, as far as they occur.
    """

    def __init__(self, attachments: Mapping[str, Any]) -> None:
        super().__init__(escape=False, attachments=dict(attachments))
        self.harm: set[str] = set()

    def block_html(self, html: str) -> str:
        self.harm.add("html")
        return super().block_html(html)

    def inline_html(self, html: str) -> str:
        self.harm.add("html")
        return super().inline_html(html)

    def block_mermaidjs(self, code: str) -> str:
        self.harm.add("mermaid")
        return super().block_mermaidjs(code)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not LINK.match(url):
            self.harm.add("link")
        return super().link(text, url, title)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if url.startswith(ATTACHMENT):
            if url.removeprefix(ATTACHMENT) not in self.attachments:
                self.harm.add("attachment")  # nbconvert would refuse the whole notebook
                return ""
        elif not IMAGE_FILE.fullmatch(url):
            self.harm.add("link")
        return super().image(text, url, title)
