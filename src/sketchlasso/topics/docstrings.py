"""Docstrings of installed packages, found in their source without running it, and their prose."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

# Folders and files that hold vendored code, tests, or tables.
NO_PROSE = """
__pycache__ _examples _vendor conftest.py dist-packages distutils encodings ensurepip extern
externals f2py idlelib lib-dynload lib2to3 mpl-data pydoc_data setup.py site-packages src test
testing tests this tkinter turtle turtledemo vendored
"""
SKIPPED = frozenset(NO_PROSE.split())

# Sections without prose of their own.
DROPPED = frozenset({"references", "see also", "methods", "authors", "author", "license"})
NAMED = """parameters|other parameters|returns|return|yields|receives|raises|warns|warnings
|attributes|notes|note|examples|example|properties|keyword arguments|keywords|args"""
SECTIONS = DROPPED | frozenset(NAMED.replace("\n", "").split("|"))
UNDERLINE = re.compile(r"^\s*([-=~^\"*+#`.])\1{2,}\s*$")
# A line that names parameters and their types, such as "x, y : array_like of shape (n,)".
DECLARATION = re.compile(r"^\s*[*`]*[\w.]+[\w.*,` ]*\s?:(\s.*)?$")
FIELD = re.compile(r"^\s*:\w[\w ]*:")
# Directives whose indented text is not prose; the text of others (note, warning) is kept.
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
    # So are those with a capital inside, except for a few that are used as words.
    (re.compile(rf"\b(?!(?:{SPOKEN})\b)[A-Za-z]*[a-z][A-Z]\w*\b"), " "),
]
SENTENCE_END = re.compile(r"(?<=[.;:!?])\s+")

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def package_docstrings(package: str) -> Iterator[tuple[str, str]]:
    """Yield names and docstrings of a package's public modules, functions, classes and methods.

    Its files are parsed and not run. A package that is not installed yields nothing. Names leave
    out private modules: a function in ``scipy/linalg/_basic.py`` is ``scipy.linalg.solve``.
    """
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is not None and found.origin is not None:
        yield from _folder(Path(found.origin).parent, package)


def standard_library_docstrings() -> Iterator[tuple[str, str]]:
    """Yield names and docstrings of Python's own modules, as :func:`package_docstrings` does."""
    home = Path(os.__file__).parent
    for name in sorted(sys.stdlib_module_names - SKIPPED):
        if name.startswith("_"):
            continue
        if (home / f"{name}.py").is_file():
            yield from _file(home / f"{name}.py", name)
        elif (home / name / "__init__.py").is_file():
            yield from _folder(home / name, name)


def compiled_docstrings(modules: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Import modules of compiled functions; yield names and docstrings."""
    for name in modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of deprecated names
            module = importlib.import_module(name)
            things = {public: getattr(module, public, None) for public in sorted(dir(module))}
        for public, thing in things.items():
            text = getattr(thing, "__doc__", None)
            if not public.startswith("_") and callable(thing) and isinstance(text, str):
                yield f"{name}.{public}", inspect.cleandoc(text)


def _folder(root: Path, package: str) -> Iterator[tuple[str, str]]:
    for place, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        parts = [package, *Path(place).relative_to(root).parts]
        for file in sorted(set(files) - SKIPPED):
            if file.endswith(".py") and not file.startswith("test_"):
                module = [*parts, file.removesuffix(".py")]
                public = [part for part in module if not part.startswith("_")]
                yield from _file(Path(place) / file, ".".join(public))


def _file(path: Path, module: str) -> Iterator[tuple[str, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escape sequences
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    if text := ast.get_docstring(tree):
        yield module, text
    yield from _members(tree.body, module)


def _members(body: Sequence[ast.stmt], inside: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        name = f"{inside}.{node.name}"
        if text := ast.get_docstring(node):
            yield name, text
        if isinstance(node, ast.ClassDef):
            yield from _members(node.body, name)


def prose(docstring: str) -> str:
    """Return the prose of a docstring.

    Doctests, code, formulas, references, types of parameters, roles, directives and the names of
    sections are removed; descriptions of parameters, notes and the text between examples stay.
    The docstring has no common indentation. Paragraphs are separated by empty lines.
    """
    lines = _without_sections(_without_blocks(docstring.expandtabs().splitlines()))
    text = "\n".join(lines)
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    return "\n\n".join(part for part in paragraphs if part)


def without_repeated(texts: Sequence[str], most: int) -> list[str]:
    """Return texts without the sentences that stand in more than `most` of them.

    Such sentences were pasted ("read more in the user guide"), say nothing about the subject, and
    would link their words. Some texts may become empty.
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
