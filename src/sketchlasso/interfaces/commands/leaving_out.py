"""`sketchlasso loo`: every row left out once, and which rows matter."""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands import options, scoring
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.outputs import (
    check_table,
    panels,
    save_picture,
    write_columns,
)
from sketchlasso.interfaces.commands.report import Facts, Report, Sheet, sheet_of
from sketchlasso.interfaces.commands.screen import Note, Screen, Watcher
from sketchlasso.interfaces.commands.solving import sketch_words
from sketchlasso.types import FloatArray, IntArray

# Leaving a row out changes the solution little, and a coarse gap would hide that.
FINE = 1e-9


def loo(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    screen: Screen,
    alpha: Annotated[str | None, "Penalty: a number, or pivotal (the default)."] = None,
    from_model: Annotated[
        Path | None, typer.Option("--model", help="Take penalty and radius from a model.")
    ] = None,
    rows: Annotated[
        int | None, "How many rows to leave out, drawn at random; all by default."
    ] = None,
    output: Annotated[Path | None, "Table to write, one row per left-out row."] = None,
    plot: Annotated[Path | None, "Picture of residuals and influence (.png, .svg, .pdf)."] = None,
    top: Annotated[int, typer.Option(help="How many influential rows to show.", min=0)] = 5,
    verbose: options.Verbose = False,
) -> Report:
    """Leave every row out once, and report which rows matter.

    Each row is predicted by a model that was fitted without it. Standard deviations that columns
    are divided by are those of all rows.
    """
    model.refuse("loo", "relaxed")
    check_table(output)
    given = read_given(file, data, needs_target=True)
    y, classes = given.signs(model.classify)
    stored = None if from_model is None else _stored(from_model, alpha, given, classes)
    X, scales = model.scaled(given.X, stored)
    chosen = _drawn(rows, len(y), model.seed)
    start = perf_counter()
    with screen.watching("leave-one-out") as watch, at_work(given, data, watch):
        level, radius = _penalty(alpha, stored, model, X)
        sketch, found = _leave_out(model, X, y, chosen, watch, alpha=level, radius=radius)
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before rows were left out")
    if scales is not None:
        warnings.warn(
            "columns were divided by their standard deviations over all rows, also of the row that "
            "is left out; --no-standardize leaves them as they are",
            Note,
            stacklevel=2,
        )
    scores = _scores(found, y, classes)
    numbers = given.rows[found.rows] + 1
    columns = {
        "prediction": found.predictions,
        "residual": found.residuals,
        "coefficient_shift": found.coefficient_shift,
        "features_gained": found.features_gained,
        "features_lost": found.features_lost,
    }
    printed = write_columns(output, {"row": numbers, **columns})
    if plot is not None:
        names = [str(row + 1) for row in given.rows]
        axes = panels([["rows"]])["rows"]
        save_picture(sl.plots.plot_leave_one_out(found, row_names=names, ax=axes), plot)
    return Report(
        data={
            "target": given.target_name,
            "alpha": level,
            "scores": scoring.score_values(scores),
            "row": numbers,
            **columns,
            "worst_gap": float(found.relative_gap.max()),
            "seconds": seconds,
        },
        facts=(
            *scoring.score_facts(scores, "on left-out rows"),
            *given.facts(classes),
            ("alpha", f"{level:.4g}"),
            ("rows", f"{len(found.rows)} left out, one at a time"),
            *(_solver_facts(sketch, found, seconds) if verbose else ()),
        ),
        sheets=_influence_sheet(found, numbers, top),
        outcome=printed,
    )


def _solver_facts(sketch: sl.Sketch, found: sl.LeaveOneOut, seconds: float) -> Facts:
    return (
        ("sketch", sketch_words(sketch)),
        ("gap", f"{found.relative_gap.max():.1e} relative, at worst"),
        ("seconds", f"{seconds:.2f}"),
    )


def _leave_out(
    model: options.ModelOptions, X: Any, y: Any, rows: Any, watch: Watcher | None, **level: Any
) -> tuple[sl.Sketch, sl.LeaveOneOut]:
    sketch = model.make_sketch(X, y, needed=True)
    assert sketch is not None
    found = sl.leave_one_out(
        sketch,
        X,
        y,
        rows=rows,
        fit_intercept=model.intercept,
        positive=model.positive,
        solver=model.solver,  # type: ignore[arg-type]
        settings=model.settings(watch, min(model.tol, FINE)),
        **level,
    )
    return sketch, found


def _penalty(
    alpha: str | None, stored: Model | None, model: options.ModelOptions, X: Any
) -> tuple[float, Any]:
    """Return penalty and radius of leave-one-out."""
    if stored is None:
        level = options.penalty_of(alpha or "pivotal")
        if isinstance(level, str):
            level = sl.pivotal_alpha(X, fit_intercept=model.intercept)
        return level, model.radius
    level = float(np.ravel(stored.alpha_)[0])
    return level, float(np.ravel(stored.radius_)[0]) if model.radius is None else model.radius


def _stored(from_model: Path, alpha: str | None, given: Given, classes: Any) -> Model:
    """Return the model that --model names: of these data, with one penalty for all features."""
    if alpha is not None:
        raise InvalidInputError(
            "--alpha and --model were given, but both name the penalty; give one of them."
        )
    stored = sl.load_model(from_model)
    if np.size(getattr(stored, "alpha_", ())) != 1:
        raise InvalidInputError(
            f"{from_model} holds several models, but leave-one-out takes one penalty; give it by "
            "--alpha."
        )
    if hasattr(stored, "loadings_"):
        raise InvalidInputError(
            f"{from_model} has a rigorous penalty, with a loading for each feature, but "
            "leave-one-out takes one penalty for all; give it by --alpha."
        )
    facts = sl.io.stored_info(from_model).facts
    if facts["target_name"] != given.target_name or hasattr(stored, "classes_") != (
        classes is not None
    ):
        raise InvalidInputError(
            f"{from_model} is a model of the target {facts['target_name'] or '(unnamed)'}, but "
            f"that of {given.source} is {given.target_name or '(unnamed)'}; give the target of the "
            "fit, or the penalty by --alpha."
        )
    if facts["fingerprint"] != sl.engine.fingerprint(given.X):
        raise InvalidInputError(
            f"{from_model} was fitted on other data than {given.source} as it is read here, but "
            "leave-one-out takes the rows of the fit away; give the file and the options of the "
            "fit, or the penalty by --alpha."
        )
    return stored


def _drawn(count: int | None, total: int, seed: int) -> IntArray | None:
    if count is None:
        return None
    if not 1 <= count <= total:
        raise InvalidInputError(
            f"--rows must be from 1 to {total}, the number of rows, not {count}."
        )
    return np.sort(np.random.default_rng(seed).choice(total, count, replace=False))


def _scores(found: sl.LeaveOneOut, y: FloatArray, classes: Any) -> dict[str, scoring.Score]:
    """Score the predictions of left-out rows; y is +1 and -1 for two classes."""
    truth = y[found.rows]
    if classes is None:
        return scoring.regression_scores(truth, found.predictions)
    labels = classes[(truth > 0).astype(int)]
    return scoring.class_scores(labels, classes[(found.predictions > 0).astype(int)], classes)


def _influence_sheet(found: sl.LeaveOneOut, numbers: IntArray, top: int) -> tuple[Sheet, ...]:
    order = np.argsort(-found.coefficient_shift, kind="stable")[:top]
    columns = (
        ("row", numbers),
        ("residual", found.residuals),
        ("coefficient shift", found.coefficient_shift),
        ("gained", found.features_gained),
        ("lost", found.features_lost),
    )
    return sheet_of("most influential rows", columns, order)
