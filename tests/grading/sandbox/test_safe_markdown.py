"""Written answers keep their Markdown, and lose what would run."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from gpulab.grading.sandbox.safe_markdown import (
    MARKDOWN_CHARACTERS,
    clean_attachments,
    clean_markdown,
    is_image,
)
from tests.grading.sandbox.hostile import PNG

ANSWERS = [
    "The loop runs while `i<n`, so $a<b$ holds and a < b, too.",
    "```cuda\nkernel<<<grid,block>>>(x);\nif (i<n) x[i]=0;\n```",
    "$$\n\\sum_{i<n} x_i\n$$\n\n\\begin{align} a&<b \\end{align}",
    "| step | speed-up |\n|---|---|\n| opt_1 | **2.1** |",
    "[the guide](https://docs.nvidia.com/cuda/) and https://example.org/?a=1&b=2",
    "![halo](figures/halo.svg) ~~wrong~~\n\n1. one\n   - two\n\n> quoted &lt;b&gt; \\*",
    "    indented <b>code</b>",
    "`<script>` is an element, and vector&lt;float&gt; a type.",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_honest_answer_is_not_changed(text: str) -> None:
    assert clean_markdown(text) == text


TYPED = [
    "a<b> and c",
    "if (i<n && j>0) x[i]=0; for (i=0;i<n;++i) y<z>w",
    "std::vector<float> v(n), a[i](x)",
    "kernel<<<grid,block>>>(A) and <T> and </T>",
    "<T> begins a line",
    "<div>",
    "cost `a<b>` but not vector<float>",
    "the loop<br>ends, 1 < 2, $a<b$ and x<y>",
    "[x](javascript:f()) and <https://example.org>",
    "[x](javascript:f()) and `m[0](1)`",
    "![x](https://example.org/x.png)",
    "![x](/logout) ![x](a/../../x.png)",
    "![x](attachment:x.png)",
    "an \\<escaped> one and vector<float>",
]


@pytest.mark.parametrize("text", TYPED)
def test_markup_shows_as_it_was_typed(text: str) -> None:
    shown = BeautifulSoup(markdown2html_mistune(clean_markdown(text)), "html.parser").text.strip()
    assert shown == re.sub(r"`|<(?=https)|(?<=org)>|\\(?=<)", "", text)


def test_definition_of_a_harmful_address_shows_as_text() -> None:
    html = markdown2html_mistune(clean_markdown("[x]\n\n[x]: javascript:f()"))
    assert BeautifulSoup(html, "html.parser").text.split() == ["[x]", "[x]:", "javascript:f()"]


@pytest.mark.parametrize("text", ["> " * 2000 + "`<b>", "- x\n\n  ````mermaid\n<b>\n````\n"])
def test_other_harmful_text_shows_as_code(text: str) -> None:
    html = BeautifulSoup(markdown2html_mistune(clean_markdown(text)), "html.parser")
    assert html.find("b") is None
    assert "<b>" in html.text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        (r"$\href{javascript:f()}{x}$", r"$\ href{javascript:f()}{x}$"),
        ("```mermaid\ngraph TD\n```", "```text \ngraph TD\n```"),
    ],
)
def test_harmful_language_is_changed(text: str, cleaned: str) -> None:
    assert clean_markdown(text) == cleaned


def test_attached_image_is_kept() -> None:
    attachments = clean_attachments({"x.png": {"image/png": PNG}, "y": {"text/html": "<b>"}, "z": "text"})
    assert attachments == {"x.png": {"image/png": PNG}}
    assert clean_markdown("![x](attachment:x.png)", attachments) == "![x](attachment:x.png)"


def test_attachments_of_another_form_are_dropped() -> None:
    assert clean_attachments(["x"]) == clean_attachments(None) == {}
    assert clean_attachments({'"><b>': {"image/png": PNG}}) == {}


@pytest.mark.parametrize("content", [None, 3, "", "no base64!", "aGVsbG8=", PNG[:8]])
def test_other_content_is_no_image(content: object) -> None:
    assert not is_image("image/png", content)
    assert not is_image("image/jpeg", content)


def test_image_of_many_pixels_is_refused() -> None:
    import base64

    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (100_000).to_bytes(4, "big") * 2
    assert not is_image("image/png", base64.b64encode(header).decode())


def test_long_answer_is_cut() -> None:
    text = clean_markdown("x " * MARKDOWN_CHARACTERS)
    assert text.endswith("(50000 more characters are not shown.)")
    assert len(text) < MARKDOWN_CHARACTERS + 100
