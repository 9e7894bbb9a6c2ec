"""Notebooks that try to run a script in the browser of a teacher who opens nbgrader's page of them.

Each script defines `window.ran`. Links are clicked by the test.
"""

from __future__ import annotations

from typing import Any

from tests.grading.sandbox.pages import code_cell, display, lab, markdown_cell

SCRIPT = "window.ran++"  # without characters that CommonMark does not allow in an attribute
IMG = f"<img src=x onerror={SCRIPT}>"
# A PNG of one pixel.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
LINK = f"javascript:void({SCRIPT})"

MARKDOWN = {
    "script": f"<script>{SCRIPT}</script>",
    "inline": f"The answer is {IMG}.",
    "svg": f"<svg onload={SCRIPT}></svg>",
    "svg with slash": f"<svg/onload={SCRIPT}>",
    "iframe": f"<iframe srcdoc='<script>parent.{SCRIPT}</script>'></iframe>",
    "details": f"<details open ontoggle={SCRIPT}>x</details>",
    "style": f"<style>@keyframes x{{}}</style><b style='animation-name:x' onanimationstart={SCRIPT}>x</b>",
    "comment": f"<!-- --!>{IMG}-->",
    "unclosed tag": f"text <img src=x onerror={SCRIPT} alt=",
    "across paragraphs": f"<div>\n\n{IMG}\n\n</div>",
    "noscript": f"<noscript><p title='</noscript>{IMG}'></noscript>",
    "cdata": f"<![CDATA[ ]]>{IMG}",
    "link": f"[x]({LINK})",
    "link with entity": f"[x](java&#115;cript:void({SCRIPT}))",
    "link with upper case": f"[x](JaVaScRiPt:void({SCRIPT}))",
    "link with tab": f"[x](<java\tscript:void({SCRIPT})>)",
    "link with leading control character": f"[x](<\x01{LINK}>)",
    "link in angles": f"[x](<{LINK}>)",
    "autolink": f"<{LINK}>",
    "reference": f"[x]\n\n[x]: {LINK}",
    "reference on two lines": f"[x]\n\n[x]:\n  {LINK}\n  'title'",
    "image as link": f"[![x](figures/x.png)]({LINK})",
    "data link": f"[x](data:text/html,<script>opener.{SCRIPT}</script>)",
    "title": f"[x](https://example.org '\" onmouseover=\"{SCRIPT}')",
    "mermaid": f"```mermaid\n{IMG}\n```",
    "mermaid with tildes": f"~~~~ mermaid x\n{IMG}\n~~~~",
    "language": f'```"><img/src=x/onerror={SCRIPT}>\nx\n```',
    "table": f"| a |\n|---|\n| {IMG} |",
    "list": f"- [ ] {IMG}",
    "heading": f"# {IMG}",
    "definition": f"term\n: {IMG}",
    "mathematics": f"$\\text{{{IMG}}}$ $$\n{IMG}\n$$",
    "mathematics with link": rf"$\href{{{LINK}}}{{x}}$",
    "mathematics with entity": rf"\\(\hr&#101;f{{{LINK}}}{{x}}\\)",
    "environment": f"\\begin{{a}}{IMG}\\end{{a}}",
    "missing attachment": "![x](attachment:missing.png)",
}
OUTPUTS = {
    "html": display(html=IMG),
    "script": display(html=f"<script>{SCRIPT}</script>"),
    "lines": display(html=["<img src=x ", f"onerror={SCRIPT}>"]),
    "link": display(html=f"<a href='{LINK}'>x</a>"),
    "link with control character": display(html=f"<a href='\x01java\nscript:void({SCRIPT})'>x</a>"),
    "form": display(html=f"<form action='{LINK}'><button>x</button></form>"),
    "attribute of bootstrap": display(
        html=f'<a data-toggle="tooltip" data-html="true" title="{IMG}" href="#x">x</a>'
    ),
    "foreign content": display(html=f"<math><mtext><table><mglyph><style><!--</style>{IMG}"),
    "svg in html": display(html=f"<svg><style>{IMG}</style></svg>"),
    "textarea": display(html=f"<textarea><p title='</textarea>{IMG}'>"),
    "isolated": display(html=f"<script>parent.{SCRIPT}</script>", metadata={"text/html": {"isolated": True}}),
    "javascript": display(javascript=SCRIPT),
    "widget": display(widget={"model_id": f"</script>{IMG}"}),
    "svg": display(svg=f"<svg xmlns='http://www.w3.org/2000/svg' onload='{SCRIPT}'/>"),
    "markdown": display(markdown=f"x {IMG} [x]({LINK})"),
    "mermaid": display(mermaid=IMG),
    "latex": display(latex=rf"$\href{{{LINK}}}{{x}}$ {IMG}"),
    "png": display(png=f'">{IMG}'),
    "size of an image": display(png=PNG, metadata={"image/png": {"width": f"1 onload={SCRIPT}"}}),
    "file name of an image": display(png=PNG, metadata={"filenames": {"image/png": f'"onerror="{SCRIPT}'}}),
    "plain": display(plain=IMG),
    "stream": {"output_type": "stream", "name": "stdout", "text": f"\x1b[1m{IMG}\x1b[&{IMG}"},
    "error": {"output_type": "error", "ename": IMG, "evalue": IMG, "traceback": [f"\x1b[31m{IMG}"]},
}

GRADED = {"schema_version": 3, "solution": True, "grade": True, "locked": False, "points": 1, "task": False}
MARKED = {"nbgrader": {**GRADED, "grade_id": f'"><img src=x onerror="{SCRIPT}">'}}
NOTEBOOKS: dict[str, dict[str, Any]] = {
    **{f"markdown: {name}": lab(markdown_cell(text)) for name, text in MARKDOWN.items()},
    **{f"output: {name}": lab(code_cell(output)) for name, output in OUTPUTS.items()},
    "execution count": lab(code_cell(execution_count=IMG)),
    "cell ID": lab(code_cell(id=f'"{IMG}')),
    "tags": lab(code_cell(metadata={"tags": [f'"{IMG}']})),
    "name of a graded cell": lab(code_cell(metadata=MARKED)),
    "name of a graded answer": lab(markdown_cell("x", metadata=MARKED)),
    "comment": lab(markdown_cell("x", metadata={"nbgrader": {**GRADED, "grade_id": "a", "comment": IMG}})),
    "attachment": lab(
        markdown_cell("![x](attachment:a)", attachments={"a": {"text/html": f'"{IMG}', "image/svg+xml": IMG}})
    ),
    "raw cell": lab(
        {"cell_type": "raw", "id": "r", "source": IMG, "metadata": {"raw_mimetype": "text/html"}}
    ),
    "unknown cell": lab({"cell_type": "html", "type": IMG, "id": "r", "source": IMG, "metadata": {}}),
    "source": lab(code_cell(source=f"'{IMG}'")),
    "title": lab(code_cell(), title=f"</title>{IMG}"),
    "language": lab(code_cell(), language_info={"name": f'"{IMG}', "pygments_lexer": f'"{IMG}'}),
    "kernel": lab(code_cell(), kernelspec={"name": IMG, "display_name": IMG}),
    "widgets": lab(
        code_cell(),
        widgets={"application/vnd.jupyter.widget-state+json": {"state": {"a": f"</script>{IMG}"}}},
    ),
}
