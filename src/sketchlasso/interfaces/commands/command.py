"""From a function that returns a report to a command that Typer knows."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer

from sketchlasso.errors import GridEdgeWarning, InaccurateWarning
from sketchlasso.interfaces.cli import Exit, exit_of
from sketchlasso.interfaces.commands.report import Report
from sketchlasso.interfaces.commands.screen import Note, Screen, remarks_kept
from sketchlasso.interfaces.commands.wording import spoken
from sketchlasso.interfaces.visible import visible

__all__ = ["as_command", "examples"]

# Warnings after which a command ends with Exit.INACCURATE.
SHORTFALLS = (InaccurateWarning, GridEdgeWarning)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")]


def examples(*lines: str) -> str:
    """Return the end of a help page: lines to copy."""
    if sys.stdout.isatty():  # Rich joins lines and keeps paragraphs
        return "\n\n".join(("Examples:", *(f"  sketchlasso {line}" for line in lines)))
    return "\n".join(("\b", "Examples:", *(f"  sketchlasso {line}" for line in lines)))


def as_command(work: Callable[..., Report]) -> Callable[..., None]:
    """Make a command of a function that returns a report.

    Parameters that are dataclasses become one option per field, under the heading `panel` of the
    class if it has one, so that commands share options by naming them once. The parameter
    `screen` becomes ``--json`` and ``--quiet``. Errors of ours end in one line on stderr and their
    exit code; so do inaccurate results, after the report.
    """
    hints = get_type_hints(work, include_extras=True)
    hints.pop("return")
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = _parameters(work, hints, groups)

    @functools.wraps(work)
    def command(context: typer.Context, **values: Any) -> None:
        screen = Screen(values.pop("json"), values.pop("quiet"))
        for name, group in groups.items():
            if group is not Screen:
                own = {field.name: values.pop(field.name) for field in fields(group)}
                values[name] = group(**own)
        values["screen"] = screen
        code = _run(work, values, screen, context.command.params)
        if code:
            raise typer.Exit(int(code))

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


def _run(
    work: Callable[..., Report], values: dict[str, Any], screen: Screen, options: list[Any]
) -> Exit:
    try:
        with remarks_kept() as caught:
            report = work(**values)
    except Exception as error:
        code = exit_of(error)
        if code is None:
            raise
        print(f"sketchlasso: {visible(spoken(error, options).rstrip('.'))}.", file=sys.stderr)
        return code
    # Deprecations of other libraries are not the user's business.
    shown = [note for note in caught if issubclass(note.category, UserWarning)]
    kinds = {spoken(note.message, options): issubclass(note.category, Note) for note in shown}
    try:
        screen.show(
            report,
            [remark for remark, is_note in kinds.items() if not is_note],
            [remark for remark, is_note in kinds.items() if is_note],
        )
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; nothing may be written at the end of the process either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    fell_short = any(issubclass(note.category, SHORTFALLS) for note in shown)
    return Exit.INACCURATE if fell_short or report.fell_short else Exit.FINE


def _parameters(
    work: Callable[..., Report], hints: dict[str, Any], groups: dict[str, Any]
) -> list[inspect.Parameter]:
    """Parameters of the command, those with defaults by keyword."""
    found = [_parameter("context", typer.Context, inspect.Parameter.empty)]
    for name, parameter in inspect.signature(work).parameters.items():
        if name not in groups:
            found.append(_parameter(name, hints[name], parameter.default))
        elif groups[name] is not Screen:
            own = get_type_hints(groups[name], include_extras=True)
            panel = getattr(groups[name], "panel", None)
            found += [
                _parameter(field.name, _in_panel(own[field.name], panel), field.default)
                for field in fields(groups[name])
            ]
    found += [_parameter("json", Json, False), _parameter("quiet", Quiet, False)]
    return found


def _in_panel(hint: Any, panel: str | None) -> Any:
    """Put an option under the heading of its group, unless it has one of its own."""
    kind, option = get_args(hint)
    if option.rich_help_panel is None:
        option = copy(option)  # other groups share it
        option.rich_help_panel = panel
    return Annotated[kind, option]


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
