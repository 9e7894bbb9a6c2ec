"""Written answers in Markdown whose rendering by nbgrader contains no markup of the student's.

nbgrader stores the Markdown text and renders it with nbconvert, which lets HTML, `javascript:` links and
Mermaid diagrams through. A text is therefore rendered here by nbconvert's own renderer. If that finds nothing
harmful, the text stays as it is. Otherwise the harmful constructs are broken up so that they show as text.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Mapping
from typing import Any

from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from gpulab.grading.sandbox.safe_text import COLOUR_CODE, MATHJAX_MACRO, clean_text

__all__ = ["clean_attachments", "clean_markdown", "is_image"]

MARKDOWN_CHARACTERS = 50_000  # of one answer, about 20 printed pages
IMAGE_PIXELS = 20_000_000  # a page cannot show more, but a few kilobytes can unpack to more

LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
# Only files beside the notebook: a browser requests the address of an image without a click.
IMAGE_FILE = re.compile(r"(?!.*\.\.)[\w][\w./%-]*\.(?:png|jpe?g|gif|svg)", re.IGNORECASE)
ATTACHMENT = "attachment:"
TAG_START = re.compile(r"<(?=[A-Za-z/!?])")  # an HTML parser takes any other `<` for text
MERMAID_FENCE = re.compile(r"((?:`{3}|~{3})[`~\s]*)mermaid", re.IGNORECASE)


def clean_markdown(text: str, attachments: Mapping[str, Any] | None = None) -> str:
    """Return Markdown that nbconvert renders without HTML, scripts or harmful links of its author.

    Parameters
    ----------
    text : str
        The source of a Markdown cell. Formulas, code, tables and `<` keep their meaning.
    attachments : mapping, optional
        The images of the cell, as `clean_attachments` returns them.

    Notes
    -----
    If a construct is harmful, all constructs of its kind in the cell show as text. If that does not help,
    only letters, digits and plain punctuation remain.
    """
    text = COLOUR_CODE.sub("", clean_text(text))
    if len(text) > MARKDOWN_CHARACTERS:
        rest = len(text) - MARKDOWN_CHARACTERS
        text = f"{text[:MARKDOWN_CHARACTERS]}\n\n({rest} more characters are not shown.)"

    attachments = attachments or {}
    harm = harmful_constructs(text, attachments)
    if not harm:
        return text

    text = _neutralise(text, harm)
    if remaining := harmful_constructs(text, attachments):
        text = _neutralise(text, {"html", "link", "macro", "mermaid", "attachment"} | remaining)
        if harmful_constructs(text, attachments):
            return re.sub(r"[^\w\s.,;:!?()=-]", " ", text)
    return text


def clean_attachments(attachments: object) -> dict[str, dict[str, str]]:
    """Return the attachments of a cell that are images, with one representation each."""
    cleaned = {}
    for name, versions in attachments.items() if isinstance(attachments, Mapping) else ():
        for kind in ("image/png", "image/jpeg"):
            content = versions.get(kind) if isinstance(versions, Mapping) else None
            if is_image(kind, content) and re.fullmatch(r"[\w][\w. %-]{0,100}", str(name)):
                cleaned[str(name)] = {kind: str(content)}
                break
    return cleaned


def is_image(kind: str, content: object) -> bool:
    """Return True if a text is an image in base64, of a type and a size that a page can show."""
    if not isinstance(content, str):
        return False
    try:
        data = base64.b64decode("".join(content.split()), validate=True)
    except (binascii.Error, ValueError):
        return False

    if kind == "image/png":
        width, height = (int.from_bytes(data[start : start + 4], "big") for start in (16, 20))
        return data.startswith(b"\x89PNG\r\n\x1a\n") and 0 < width * height <= IMAGE_PIXELS
    return kind == "image/jpeg" and data.startswith(b"\xff\xd8\xff")


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


def _neutralise(text: str, harm: set[str]) -> str:
    """Break up the constructs of some kinds."""
    if "unreadable" in harm:
        harm = harm | {"html", "link", "macro", "mermaid", "attachment"}
    if "macro" in harm:
        # `\\hr&#101;f` is `\\href` for MathJax.
        text = MATHJAX_MACRO.sub(r"\\ ", re.sub(r"&(?=#|\w+;)", "&amp;", text))
    if harm & {"html", "link"}:
        text = TAG_START.sub("< ", text)  # `<javascript:x>` is a link
    if "link" in harm:
        text = text.replace("](", "] (").replace("]:", "] :")
    if "mermaid" in harm:
        text = MERMAID_FENCE.sub(r"\1text ", TAG_START.sub("< ", text))
    if "attachment" in harm:
        text = re.sub(f"(?i){ATTACHMENT}", "attachment ", text).replace("](", "] (").replace("]:", "] :")
    return text
