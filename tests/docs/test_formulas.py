"""Formulas of the pages become MathML, and no page falls back to norms of plain characters."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("latex2mathml", reason="needs the package latex2mathml")
from docs.hooks import formulas

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)(?<!\s)\$", re.DOTALL)


def marked(latex, *, display=False):
    if display:
        return f'<div class="arithmatex">\\[\n{latex}\n\\]</div>'
    return f'<span class="arithmatex">\\({latex}\\)</span>'


def test_formulas_in_a_line_and_on_their_own_become_mathml():
    page = "<p>a " + marked("x &lt; y") + " b</p>" + marked(r"\sqrt{x}", display=True)
    found = formulas.typeset(page)
    assert "arithmatex" not in found
    inline, block = re.findall(r"<math .*?</math>", found)
    assert 'display="inline"' in inline and "<mi>y</mi>" in inline
    assert 'display="block"' in block and "<msqrt>" in block
    assert found.startswith("<p>a <math")


@pytest.mark.parametrize("bars", [(r"\|", r"\|"), (r"\lVert ", r"\rVert"), ("|", "|")])
def test_bars_know_their_sides(bars):
    found = formulas.mathml(f"{bars[0]}w{bars[1]}_2 + {bars[0]}v{bars[1]}")
    assert forms_of(found) == ["prefix", "postfix"] * 2


def forms_of(mathml):
    return [part.get("form") for part in ElementTree.fromstring(mathml).iter() if part.get("form")]


@pytest.mark.parametrize("latex", [r"\left|t\right| + |t|", r"\|\,|t| - |s|\,\|", r"|t|^2 \|t\|_1"])
def test_bars_know_their_sides_beside_and_inside_other_bars(latex):
    forms = forms_of(formulas.mathml(latex))
    assert len(forms) in (4, 6)
    assert forms.count("prefix") == forms.count("postfix")
    assert (forms[0], forms[-1]) == ("prefix", "postfix")


@pytest.mark.parametrize("latex", [r"\nosuchcommand x", r"\begin{aligned} a &= b \end{aligned}"])
def test_a_command_that_is_not_known_ends_the_build(latex):
    with pytest.raises(ValueError, match="latex2mathml does not know"):
        formulas.mathml(latex)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_formula_of_a_page_can_be_typeset(page):
    words = CODE.sub("", page.read_text(encoding="utf-8"))
    for block, inline in FORMULA.findall(words):
        ElementTree.fromstring(formulas.mathml(block or inline, display=bool(block)))
    plain = FORMULA.sub("", words)
    assert "||" not in plain and "‖" not in plain, "write norms as $\\|x\\|$"
