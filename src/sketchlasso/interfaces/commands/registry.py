"""Groups of commands whose modules are loaded when a command runs, so that help comes at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sketchlasso.interfaces.exits import Exit

__all__ = ["Entry", "group", "loaded"]


class Entry(NamedTuple):
    """A command that is not loaded yet.

    Attributes
    ----------
    work : str
        ``"module:function"`` below :mod:`sketchlasso.interfaces`; the function returns a report.
    summary : str
        First sentence of the function's documentation, for the list of commands.
    examples : tuple of str
        Lines to copy, without the name of the program.
    """

    work: str
    summary: str
    examples: tuple[str, ...]


def group(help: str, entries: Mapping[str, Entry]) -> typer.Typer:
    """Make an application or a group of commands."""
    # What a line break is worth depends on who formats the help page.
    line_break = "\n\n" if sys.stdout.isatty() else "\n"
    codes = line_break.join(
        ["Exit codes:", *(f"  {code.value:<4} {code.meaning}" for code in Exit)]
    )
    return _plain(
        help=help,
        epilog=codes if sys.stdout.isatty() else f"\b\n{codes}",
        cls=type("Group", (_Group,), {"entries": entries}),
        no_args_is_help=True,
    )


def _plain(**options: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        # Panels on a terminal, plain lines in a pipe.
        rich_markup_mode="rich" if sys.stdout.isatty() else None,
        **options,
    )


class _Group(TyperGroup):
    """Lists its commands by their summaries, and loads the one that is called."""

    entries: Mapping[str, Entry] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        named = {
            name: TyperCommand(name, help=entry.summary) for name, entry in self.entries.items()
        }
        self.commands = {**named, **self.commands}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.entries:
            command = loaded(name, self.entries[name])
        return name, command, rest


def loaded(name: str, entry: Entry) -> Any:
    """Return the command itself, with its options."""
    from sketchlasso.interfaces.commands.command import as_command, examples

    module, _, function = entry.work.partition(":")
    work = getattr(import_module(f"sketchlasso.interfaces.{module}"), function)
    alone = _plain()
    alone.command(name, epilog=examples(*entry.examples))(as_command(work))
    return typer.main.get_command(alone)
