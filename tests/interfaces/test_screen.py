"""What a terminal shows, without a terminal: Rich renders into a string."""

import sys

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.commands.screen import Report, Screen, Sheet, as_json, short

REPORT = Report(
    {"value": 1.0},
    facts=(("label", "a [red] value"),),
    sheets=(Sheet("title", ("name", "size"), (("[b]", 1.23456), ("c", None))),),
    text="before",
    closing="after",
)


def test_brackets_are_not_markup_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Screen().show(REPORT, ["careful"])
    shown = capsys.readouterr()
    for part in ("before", "a [red] value", "[b]", "1.235", "after", "╭"):
        assert part in shown.out
    assert shown.err == "sketchlasso: warning: careful\n"


def test_plain_lines_are_aligned(capsys):
    Screen().show(REPORT, [])
    assert capsys.readouterr().out == (
        "before\nlabel  a [red] value\n\ntitle\nname   size\n[b]   1.235\nc         -\nafter\n"
    )


def test_a_bar_never_stands_still(monkeypatch, capsys):
    """Before the first problem and after the last the bar moves, and does not claim a share."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Screen().watching("working") as watch:
        (task,) = watch.bar.tasks
        assert task.total is None
        seen = []
        for solved in (0, 1, 400):
            watch(sl.Progress(solved=solved, total=400, round=1, worst_gap=0.5))
            seen.append((task.total, task.fields["state"]))
    assert seen == [
        (None, "starting"),
        (400, "1/400 solved"),
        (None, "400 solved, finishing"),
    ]


def test_values_for_people_and_machines():
    assert [short(value) for value in (None, True, 0.123456, 7, "x")] == [
        "-", "yes", "0.1235", "7", "x",
    ]  # fmt: skip
    assert [short(value) for value in (-77193.2, 1e-9, 4.321e9)] == ["-77190", "1e-09", "4.321e+09"]
    text = as_json({"a": np.array([1.0, np.nan]), "b": np.int64(3), "c": (np.inf, "é")})
    assert "null" in text and "é" in text and '"b": 3' in text
