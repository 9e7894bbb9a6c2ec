"""Cleaning of written answers in Markdown, so that nbgrader renders no markup of the student's.

nbgrader stores the Markdown text and renders it with nbconvert, which lets HTML, `javascript:` links and
Mermaid diagrams through. A text is therefore rendered here by nbconvert's own renderer. If that finds nothing
harmful, the text stays as it is. Otherwise the characters that begin the harmful constructs are escaped, so
that these show as they were typed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from gpulab.grading.sandbox.safe_text import COLOUR_CODE, MATHJAX_MACRO, clean_text

__all__ = ["clean_attachments", "clean_markdown", "is_image"]

MARKDOWN_CHARACTERS = 50_000  # characters of one answer: about 20 printed pages
IMAGE_PIXELS = 20_000_000  # a page cannot show more, but a few kilobytes can unpack to more

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
    If an element of HTML or the address of a link is harmful, the source of all of them shows as text. If
    that does not help, the whole text shows as a block of code.
    """
    # nbconvert takes half a second to import, and most processes clean no Markdown.
    from gpulab.grading.sandbox.markdown_harm import escape_markup, harmful_constructs

    text = COLOUR_CODE.sub("", clean_text(text))
    if len(text) > MARKDOWN_CHARACTERS:
        rest = len(text) - MARKDOWN_CHARACTERS
        text = f"{text[:MARKDOWN_CHARACTERS]}\n\n({rest} more characters are not shown.)"

    attachments = attachments or {}
    harm = harmful_constructs(text, attachments)
    if not harm:
        return text

    if "macro" in harm:
        # `\hr&#101;f` is `\href` for MathJax.
        text = MATHJAX_MACRO.sub(r"\ ", re.sub(r"&(?=#|\w+;)", "&amp;", text))
    if "mermaid" in harm:
        text = MERMAID_FENCE.sub(r"\1text ", text)
    if harm & {"html", "link", "attachment"}:
        text = escape_markup(text, attachments)
    if harmful_constructs(text, attachments):
        text = _as_code_block(text)
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


def _as_code_block(text: str) -> str:
    """Return a text in a fence that no line of it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return MATHJAX_MACRO.sub(r"\ ", f"{fence}text\n{text}\n{fence}")
