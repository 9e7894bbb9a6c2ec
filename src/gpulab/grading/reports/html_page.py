"""The frame of gpulab's own HTML pages.

A page is one file. It needs no other file and no network, follows the reader's light or dark setting, and
runs no script.
"""

from __future__ import annotations

from gpulab.views.html import escape
from gpulab.views.theme import STYLE

__all__ = ["html_page"]

# The browser must not load or run anything, even if markup of a submission reached the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
PAGE = """
html{background:#fff;color-scheme:light dark}
@media (prefers-color-scheme:dark){html{background:#111418}}
body{margin:0}
main.gpulab{max-width:1400px;margin:0 auto;padding:16px 20px 60px}
.gpulab h1{font-size:24px;margin:12px 0 2px} .gpulab h2{font-size:19px;margin:32px 0 6px}
.gpulab h3{font-size:16px;margin:24px 0 4px} .gpulab a{color:var(--gp-plain)}
"""


def html_page(title: str, body: str, style: str = "") -> str:
    """Return a page with a title and an HTML body; style: further rules of its style sheet."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{PAGE}{style}</style></head>\n"
        f'<body><main class="gpulab"><h1>{escape(title)}</h1>{body}</main></body></html>\n'
    )
