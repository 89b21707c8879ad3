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
from sketchlasso.interfaces.commands.outputs import PlotOptions, TableOptions, panels
from sketchlasso.interfaces.commands.screen import Note, Report, Screen, facts_of, sheet_of
from sketchlasso.interfaces.commands.sketch import sketch_words

# Leaving a row out changes the solution little, and a coarse gap would hide that.
FINE = 1e-9


def loo(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    table: TableOptions,
    picture: PlotOptions,
    screen: Screen,
    alpha: Annotated[str | None, "Penalty: a number, or pivotal (the default)."] = None,
    from_model: Annotated[
        Path | None, typer.Option("--model", help="Take penalty and radius from a model.")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="How many rows to leave out, drawn at random; all by default.", min=1),
    ] = None,
    top: options.Top = 5,
    verbose: options.Verbose = False,
) -> Report:
    """Leave every row out once, and report which rows matter.

    Each row is predicted by a model that was fitted without it. Standard deviations that columns
    are divided by are those of all rows.
    """
    model.refuse_relaxed("loo")
    if alpha is not None and from_model is not None:
        raise InvalidInputError(
            "--alpha and --model were given, but both name the penalty; give one of them."
        )
    penalty = options.penalty_of(alpha or "pivotal")
    given = read_given(file, data, needs_target=True)
    y, classes = given.signs(model.classify)
    stored = None if from_model is None else _stored(from_model, given, classes)
    X, scales = model.scaled(given.X, stored)
    if rows is not None and rows > len(y):
        raise InvalidInputError(f"--rows must be at most {len(y)}, not {rows}.")
    left_out = None
    if rows is not None:
        left_out = np.sort(np.random.default_rng(model.seed).choice(len(y), rows, replace=False))
    radius: Any = model.radius
    start = perf_counter()
    with screen.watching("leave-one-out") as watch, at_work(given, data, watch):
        if stored is not None:
            penalty = float(np.ravel(stored.alpha_)[0])
            radius = float(np.ravel(stored.radius_)[0]) if radius is None else radius
        elif isinstance(penalty, str):
            penalty = sl.pivotal_alpha(X, fit_intercept=model.intercept)
        sketch = model.make_sketch(X, y, needed=True)
        assert sketch is not None and not isinstance(penalty, str)
        found = sl.leave_one_out(
            sketch,
            X,
            y,
            rows=left_out,
            alpha=penalty,
            radius=radius,
            fit_intercept=model.intercept,
            positive=model.positive,
            solver=model.solver,
            settings=model.settings(watch, FINE),
        )
    seconds = perf_counter() - start
    given.note_on_gaps("gaps were filled from all rows before rows were left out")
    if scales is not None:
        warnings.warn(
            "columns were divided by their standard deviations over all rows, also of the row that "
            "is left out; --no-standardize leaves them as they are",
            Note,
            stacklevel=2,
        )
    truth = y[found.rows]
    if classes is None:
        scores = scoring.regression_scores(truth, found.predictions)
    else:
        labels, guessed = (classes[(v > 0).astype(int)] for v in (truth, found.predictions))
        scores = scoring.class_scores(labels, guessed, classes)
    columns = {
        "row": given.rows[found.rows] + 1,
        "prediction": found.predictions,
        "residual": found.residuals,
        "coefficient_shift": found.coefficient_shift,
        "features_gained": found.features_gained,
        "features_lost": found.features_lost,
    }
    printed = table.write(columns)
    if picture.plot is not None:
        names = [str(row + 1) for row in given.rows]
        axes = panels([["rows"]])["rows"]
        picture.save(sl.plots.plot_leave_one_out(found, row_names=names, ax=axes))
    worst = float(found.relative_gap.max())
    details = {"sketch": sketch_words(sketch), "worst_gap": worst, "seconds": seconds}
    shown = ("row", "residual", "coefficient_shift", "features_gained", "features_lost")
    order = np.argsort(-found.coefficient_shift, kind="stable")[:top]
    return Report(
        data={
            "target": given.target_name,
            "alpha": penalty,
            "scores": scoring.score_values(scores),
            **columns,
            **details,
        },
        facts=(
            *scoring.score_facts(scores, "on left-out rows"),
            *given.facts(classes),
            ("alpha", f"{penalty:.4g}"),
            ("rows", f"{len(found.rows)} left out, one at a time"),
            *facts_of(details if verbose else {}),
        ),
        sheets=sheet_of(
            "most influential rows",
            [(name.replace("_", " "), columns[name]) for name in shown],
            order,
        ),
        outcome=printed,
    )


def _stored(from_model: Path, given: Given, classes: Any) -> Model:
    """Return the model that --model names: of these data, with one penalty for all features."""
    stored = sl.load_model(from_model)
    if np.size(getattr(stored, "alpha_", ())) != 1 or hasattr(stored, "loadings_"):
        raise InvalidInputError(
            f"{from_model} holds several models or a rigorous penalty with a loading for each "
            "feature, but leave-one-out takes one penalty for all; give it by --alpha."
        )
    facts = sl.io.stored_info(from_model).facts
    same_kind = hasattr(stored, "classes_") == (classes is not None)
    same_data = facts["fingerprint"] == sl.engine.fingerprint(given.X)
    if facts["target_name"] != given.target_name or not same_kind or not same_data:
        raise InvalidInputError(
            f"{from_model} was fitted on other data or another target than {given.source} as it is "
            "read here, but leave-one-out takes the rows of the fit away; give the file, target "
            "and options of the fit, or the penalty by --alpha."
        )
    return stored
