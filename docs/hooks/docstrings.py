"""Docstrings are written for Python's help; this makes them read well as Markdown too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import griffe

# Modules with public names beside those of the package itself.
SPACES = ("cluster", "engine", "errors", "graphs", "inference", "io", "topics")
ROLE = re.compile(r":(?:func|class|meth|mod|attr):`~?([\w.]+)`")
# A paragraph that ends in "::" announces a literal block, which Markdown finds by its indent.
ANNOUNCED = re.compile(r"^(.*?)\s*::$", re.MULTILINE)
SIMPLE_TABLE = re.compile(r"^=+ +=[ =]*\n(?:.*\n)*?=+ +=[ =]*\n(?:.*\n)*?=+ +=[ =]*$", re.MULTILINE)
# "name : {'a', 'b'}" is read as "a is the default", which only the signature knows.
CHOICES = re.compile(r"^(\s*\w+ : (?:tuple of )?)\{([^{}]*)\}", re.MULTILINE)
# "a, b, c" without a type gives all of them the default of the first.
TOGETHER = re.compile(
    r"^( *)(\w+(?:, \w+)+)( : [^\n]*)?\n((?:\1 {4,}[^\n]*(?:\n|$))*)", re.MULTILINE
)
PARAMETERS = re.compile(
    r"(^ *Parameters\n *-+\n)(.*?)(?=^ *\w[\w ]*\n *---|\Z)", re.DOTALL | re.MULTILINE
)
DEFINED = re.compile(r"^``(\w+)``\n {4}", re.MULTILINE)


def as_markdown(text: str, public: Mapping[str, str]) -> str:
    """Rewrite roles as links to public names, and literal blocks and tables as code."""
    text = SIMPLE_TABLE.sub(lambda found: f"```text\n{found[0]}\n```", text)
    text = ANNOUNCED.sub(lambda found: f"{found[1]}:" if found[1] else "", text)
    text = CHOICES.sub(lambda found: found[1] + found[2].replace(", ", " or "), text)
    text = PARAMETERS.sub(lambda found: found[1] + TOGETHER.sub(_one_by_one, found[2]), text)
    text = DEFINED.sub(r"- ``\1``: ", text)
    return ROLE.sub(lambda found: _link(found[1], public), text)


def _one_by_one(found: re.Match[str]) -> str:
    indent, names, kind, words = found.groups(default="")
    return "".join(f"{indent}{name}{kind}\n{words.rstrip()}\n" for name in names.split(", "))


def _link(name: str, public: Mapping[str, str]) -> str:
    first, _, rest = name.partition(".")
    last = name.rpartition(".")[2]
    if name in public or (first == "sketchlasso" and last in public):
        return f"[`{last}`][{public[last]}]"
    if first in public:
        return f"[`{name}`][{public[first]}.{rest}]"
    return f"`{name}`"


def _public_names(pkg: griffe.Module) -> dict[str, str]:
    """Return the path under which the reference shows each public name."""
    found = {}
    for module in ("", *SPACES):
        space = pkg.members[module] if module else pkg
        for name in space.exports or []:
            found.setdefault(str(name), f"{space.path}.{name}")
    return found


class MarkdownDocstrings(griffe.Extension):
    """Rewrites every docstring of the package before it is parsed."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Walk the loaded package once."""
        self._rewrite(pkg, _public_names(pkg))

    def _rewrite(self, thing: griffe.Object, public: Mapping[str, str]) -> None:
        if thing.docstring is not None:
            thing.docstring.value = as_markdown(thing.docstring.value, public)
        for member in thing.members.values():
            if not member.is_alias:
                self._rewrite(member, public)
