r"""Typeset LaTeX formulas as MathML when the pages are built, so that a browser fetches nothing.

Pages write ``$...$`` in a line and ``$$...$$`` on lines of their own. `pymdownx.arithmatex` finds
them and marks them in the HTML; this module replaces each with MathML. A command that the
converter does not know ends the build.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

MARKED = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>',
    re.DOTALL,
)
# Bars are written alike on both sides of what they enclose; MathML has to know which is which.
ALONE = r"(?<!\\left)(?<!\\right)"  # not \left| or \right|, which say it themselves
NORM = re.compile(rf"{ALONE}\\\|(.*?){ALONE}\\\|", re.DOTALL)
SIZE = re.compile(rf"{ALONE}(?<!\\)\|(.*?){ALONE}(?<!\\)\|", re.DOTALL)
SIDE = re.compile(r"\\([lr])[vV]ert")
BAR = re.compile(r"<mo>(&#x02016;|&#x0007C;|\|)</mo>")
# What the converter does not know it passes on.
UNKNOWN = re.compile(r"\\|<mi>&(?!#)")
FORMS = {"l": "prefix", "r": "postfix"}


def mathml(latex: str, *, display: bool = False) -> str:
    """Convert one formula, and refuse what the converter passes on unread."""
    paired = SIZE.sub(r"\\lvert \1\\rvert ", NORM.sub(r"\\lVert \1\\rVert ", latex))
    found = convert(paired, display="block" if display else "inline")
    # In the order in which they stand in the formula.
    forms = iter([FORMS[side] for side in SIDE.findall(paired)])
    found = BAR.sub(lambda bar: f'<mo form="{next(forms)}" stretchy="false">{bar[1]}</mo>', found)
    if UNKNOWN.search(found):
        raise ValueError(
            f"The formula {latex.strip()} has a command that latex2mathml does not know; write it "
            "with another."
        )
    return found


def typeset(content: str) -> str:
    """Replace every formula that the Markdown extension marked in a page's HTML."""

    def replace(found: re.Match[str]) -> str:
        return mathml(html.unescape(found[3]), display=found[2] == "[")

    return MARKED.sub(replace, content)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Typeset a page; MkDocs calls this when Markdown has become HTML."""
    try:
        return typeset(content)
    except ValueError as error:
        raise ValueError(f"{page.file.src_path}: {error}") from error
