"""From docstrings to prose: markup, code and the boilerplate of documentation taken out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

__all__ = ["prose", "without_repeated"]

# Sections without prose of their own.
DROPPED = frozenset({"references", "see also", "methods", "authors", "author", "license"})
NAMED = """parameters|other parameters|returns|return|yields|receives|raises|warns|warnings
|attributes|notes|note|examples|example|properties|keyword arguments|keywords|args"""
SECTIONS = DROPPED | frozenset(NAMED.replace("\n", "").split("|"))
UNDERLINE = re.compile(r"^\s*([-=~^\"*+#`.])\1{2,}\s*$")
# A line that names parameters and their types, such as "x, y : array_like of shape (n,)".
DECLARATION = re.compile(r"^\s*[*`]*[\w.]+[\w.*,` ]*\s?:(\s.*)?$")
FIELD = re.compile(r"^\s*:\w[\w ]*:")
# Directives whose indented text is no prose; the text of others (note, warning) is kept.
CODE = re.compile(
    r"^\s*\.\. *(math|plot|code|code-block|ipython|versionadded|versionchanged|deprecated|"
    r"autosummary|toctree|currentmodule|module|image|figure|sourcecode|literalinclude|index|"
    r"jupyterlite|table|csv-table|list-table|\[\w+\]|_\S.*:)"
)
DIRECTIVE = re.compile(r"^\s*\.\. *[\w-]+::.*$")
SPOKEN = "DataFrames?|NumPy|SciPy|NaNs?|LaTeX|PostScript|TrueType|OpenMP"
INLINE = [
    (re.compile(r":math:`[^`]*`"), " "),
    (re.compile(r":(?:ref|doc|term|rst|std):`([^`<]*)(?:<[^`]*>)?`"), r"\1"),
    (re.compile(r":[\w:+-]+:`[^`]*`"), " "),
    (re.compile(r"``.*?``", re.DOTALL), " "),
    (re.compile(r"`[^`]*`_+"), " "),
    (re.compile(r"`[^`\n]*`"), " "),
    (re.compile(r"\b(?:https?|ftp)://\S+|\bwww\.\S+|\b[\w.+-]+@[\w-]+\.\S+"), " "),
    (re.compile(r"[%{$]\(?\w+[)}$]s?|\|[\w ]+\||\\\w+"), " "),
    # Names of a program, not words: dotted, called, or with an equals sign.
    (re.compile(r"\b\w+(?:\.\w+)+(?:\(\S*\))?|\b\w+\(\S*\)|\b\w+=\S+"), " "),
    # So are those with a capital inside, but for the few that people say aloud.
    (re.compile(rf"\b(?!(?:{SPOKEN})\b)[A-Za-z]*[a-z][A-Z]\w*\b"), " "),
]
SENTENCE_END = re.compile(r"(?<=[.;:!?])\s+")


def prose(docstring: str) -> str:
    """Return the words of a docstring that a reader would call text.

    Doctests, code and formulas, references, types of parameters, roles, directives and the names
    of sections are taken out; what parameters mean, notes and the text between examples stay.

    Parameters
    ----------
    docstring : str
        Without common indentation.

    Returns
    -------
    str
        Paragraphs, separated by empty lines.
    """
    lines = _without_sections(_without_blocks(docstring.expandtabs().splitlines()))
    text = "\n".join(lines)
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return "\n\n".join(part for part in paragraphs if part)


def without_repeated(texts: Sequence[str], most: int) -> list[str]:
    """Return texts without the sentences that stand in more than `most` of them.

    Such sentences are pasted: "read more in the user guide" says nothing about its subject, and
    would tie its words together.

    Parameters
    ----------
    texts : sequence of str
        Paragraphs, separated by empty lines, as :func:`prose` returns them.
    most : int

    Returns
    -------
    list of str
        As many texts, some of them perhaps empty.
    """
    frequency = Counter(sentence for text in texts for sentence in set(_sentences(text)))
    return [
        " ".join(sentence for sentence in _sentences(text) if frequency[sentence] <= most)
        for text in texts
    ]


def _sentences(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from SENTENCE_END.split(paragraph)


def _without_sections(lines: list[str]) -> list[str]:
    """Drop sections without prose, the names of the others, and declarations of parameters."""
    kept: list[str] = []
    dropping = declaring = False
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        name = line.strip().rstrip(":").lower()
        if name in SECTIONS and (UNDERLINE.match(below) or line.rstrip().endswith(":")):
            dropping, declaring = name in DROPPED, name not in ("notes", "note", "examples")
            kept.append("")
        elif UNDERLINE.match(line):
            if kept and kept[-1].strip() and not dropping:
                declaring = False
        elif UNDERLINE.match(below) and line.strip():
            dropping = declaring = False
            kept.append(line)
        elif dropping:
            continue
        elif FIELD.match(line):
            kept.append(FIELD.sub(" ", line))
        elif not (declaring and DECLARATION.match(line) and _indent(line) == 0):
            kept.append(line)
    return kept


def _without_blocks(lines: list[str]) -> list[str]:
    """Drop doctests with what they print, code after a double colon, and directives of code."""
    kept: list[str] = []
    inside: int | None = None  # indentation of the line that opened a block of code
    printing = False
    for line in lines:
        if inside is not None and line.strip() and _indent(line) <= inside:
            inside = None
        if line.lstrip().startswith((">>>", "In [")):
            printing = True
        elif not line.strip():
            printing = False
            kept.append("")
        elif printing or inside is not None:
            continue
        elif CODE.match(line):
            inside = _indent(line)
        elif DIRECTIVE.match(line):
            kept.append("")
        else:
            kept.append(line)
            if line.rstrip().endswith("::"):
                inside = _indent(line)
    return kept


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
