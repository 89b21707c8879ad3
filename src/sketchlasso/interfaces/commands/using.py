"""`sketchlasso predict` and `sketchlasso certify`: a model file meets data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands.data import at_work
from sketchlasso.interfaces.commands.describe import label, response_names, score_of
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.meeting import meet
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    File,
    Files,
    ModelFile,
)
from sketchlasso.interfaces.commands.outputs import output_option
from sketchlasso.interfaces.commands.report import Report, Sheet, short, wrote
from sketchlasso.interfaces.commands.screen import Screen

__all__ = ["certify", "predict"]

# Below this relative gap the bound itself says how good a model is.
TELLING = 0.01


def predict(
    model: ModelFile,
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    screen: Screen,
    output: Annotated[
        Path | None,
        output_option(
            "Table to write (.csv, .tsv, .parquet, .npz); by default to stdout, one per line."
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            show_default=False,
            help="The column that identifies rows, to stand beside the predictions. The numbers "
            "of the rows stand in files by default.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Lower and upper ends as well, which hold new responses with this probability, "
            "such as 0.9; the model has to be calibrated (fit --calibrate).",
        ),
    ] = None,
) -> Report:
    """Predict rows with a model file.

    They are scored as well where FILE holds the target.
    """
    estimator, given = meet(model, file, data, blocks, predicting=True, id=id)
    if interval is not None:
        _check_calibrated(estimator, model)
    with screen.watching("predicting") as watch, at_work(given, blocks, watch):
        return _predicted(estimator, given, output, interval, id)


def _check_calibrated(estimator: Model, model: Path) -> None:
    """Refuse --interval for a model file that cannot give any, and say how to make one."""
    if not hasattr(estimator, "predict_interval"):
        raise InvalidInputError(
            f"--interval was given, but {model} holds a {type(estimator).__name__}, which predicts "
            "no numbers with intervals; give a model of numbers, written by fit or cv --regress."
        )
    if not hasattr(estimator, "calibration_"):
        raise InvalidInputError(
            f"--interval was given, but {model} was saved without a calibration; fit it again with "
            "--calibrate jackknife+ (fit) or --calibrate cv+ (cv)."
        )


def _predicted(
    estimator: Model, given: Given, output: Path | None, interval: float | None, id: str | None
) -> Report:
    predictions = estimator.predict(given.X)
    facts = [("data", given.words()), ("model", type(estimator).__name__)]
    document: dict[str, Any] = {
        "command": "predict",
        "output": output,
        "n_samples": len(predictions),
    }
    if given.y is not None and given.y.ndim == predictions.ndim:
        name, value = score_of(estimator, given)
        facts.append((name, f"{value:.4f}"))
        document["score"] = {"name": name, "value": value}
    ends = None
    if interval is not None:
        ends = estimator.predict_interval(given.X, interval)
        _describe_intervals(ends, estimator, given, interval, document, facts)
    if output is None:
        document["predictions"] = predictions
        rows = predictions if ends is None else _with_ends(predictions, ends)
        ids = [""] * len(rows) if given.ids is None else [f"{_cell(key)}," for key in given.ids]
        lines = "\n".join(key + _line(row) for key, row in zip(ids, rows, strict=True))
        if given.ids is not None:
            document["ids"] = given.ids
        return Report(document, outcome=lines)
    table = _prediction_table(estimator, given, predictions, ends)
    ids = given.rows + 1 if given.ids is None else given.ids
    sl.io.write_table(output, replace(table, ids=ids, id_name=id or "row"))
    return Report(document, facts=(*facts, *wrote(output)))


def _with_ends(predictions: Any, ends: Any) -> Any:
    """Rows (m, 3 t): of every target its prediction, lower and upper end."""
    columns = predictions.reshape(len(predictions), -1, 1)
    return np.concatenate([columns, ends.reshape(*columns.shape[:2], 2)], axis=2).reshape(
        len(predictions), -1
    )


def _describe_intervals(
    ends: Any,
    estimator: Model,
    given: Given,
    level: float,
    document: dict[str, Any],
    facts: list[tuple[str, str]],
) -> None:
    """Add what is known of the intervals: their method, width, and coverage where y is there."""
    method = estimator.calibration_.method
    count = len(estimator.calibration_.targets[0].residuals)
    width = float(np.median(ends[..., 1] - ends[..., 0]))
    words = f"{level:g} by {method} from {count} rows, median width {width:.4g}"
    if not np.isfinite(width):
        raise InvalidInputError(
            f"--interval {level:g} was given, but the {count} rows of the calibration can say "
            f"{count / (count + 1):.4g} at most; give that or less, or calibrate on more rows."
        )
    facts.append(("intervals", words))
    document["interval"] = {"level": level, "method": method, "lower": ends[..., 0]}
    document["interval"]["upper"] = ends[..., 1]
    if given.y is not None and given.y.ndim == ends.ndim - 1:
        inside = (ends[..., 0] <= given.y) & (given.y <= ends[..., 1])
        facts.append(("coverage", f"{np.mean(inside):.4f} of the responses lie inside"))
        document["interval"]["coverage"] = float(np.mean(inside))


def certify(
    model: ModelFile,
    file: File,
    data: DataOptions,
    screen: Screen,
    tol: Annotated[
        float | None, typer.Option(help="End with exit code 1 where a gap is above this.")
    ] = None,
) -> Report:
    """Prove how far a model is from the optimum.

    Of the full problem on FILE, without any sketch: a lower bound on what any coefficients
    whatever can reach.
    """
    estimator, given = meet(model, [file], data)
    if isinstance(estimator, sl.engine.LinearModels):
        raise InvalidInputError(
            f"{model} holds linear models without their penalties; use certify in Python, which "
            "takes them."
        )
    info = sl.io.stored_info(model)
    found = sl.certify(
        given.X,
        _responses(estimator, given),
        np.atleast_2d(estimator.coef_),
        np.atleast_1d(estimator.alpha_),
        penalty_factor=_penalty_factor(estimator, info.facts, given),
        fit_intercept=estimator.fit_intercept,
        positive=estimator.positive,
    )
    same = info.facts["fingerprint"] == sl.engine.fingerprint(given.X)
    worst = float(found.relative_gap.max())
    rows = tuple(
        (short(name), *map(float, numbers))
        for name, *numbers in zip(
            response_names(estimator, given.target_name or "target"),
            np.atleast_1d(estimator.alpha_),
            found.primal,
            found.dual,
            found.relative_gap,
            strict=True,
        )
    )
    heads = ("response", "alpha", "objective", "lower bound", "relative gap")
    return Report(
        data={
            "command": "certify",
            "same_data": same,
            "alpha": np.atleast_1d(estimator.alpha_),
            "objective": found.primal,
            "lower_bound": found.dual,
            "relative_gap": found.relative_gap,
        },
        facts=(
            ("data", given.words() + ("" if same else " (not those of the fit)")),
            *_proven(worst),
            *(
                (("note", "relaxed coefficients minimise another objective"),)
                if estimator.relaxed
                else ()
            ),
        ),
        sheets=(Sheet("full problem", heads, rows),),
        fell_short=tol is not None and worst > tol,
    )


def _proven(worst: float) -> tuple[tuple[str, str], ...]:
    """What the bounds say, and what a wide one does not say."""
    if worst <= TELLING:
        return (("proven", f"no other coefficients are better by more than {100 * worst:.2g} %"),)
    return (
        ("proven", "the optimum lies between the lower bound and the objective"),
        (
            "note",
            "the bound is cautious, and a model of a sketch is mostly far nearer to the optimum "
            "than it shows; fit with --refine to close the gap",
        ),
    )


def _responses(estimator: Model, given: Given) -> Any:
    """What the fit regressed on: y, or +1 and -1 for classes, one column per model."""
    y = given.response
    if not hasattr(estimator, "classes_"):
        return y
    classes = estimator.classes_
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise InvalidInputError(
            f"the target of {given.source} holds {label(unknown[0])!r}, which is none of the "
            "model's classes; give data with the classes of the fit."
        )
    if len(classes) == 2:
        return np.where(y == classes[1], 1.0, -1.0)
    return np.where(y[:, None] == classes, 1.0, -1.0)


def _penalty_factor(estimator: Model, facts: Mapping[str, Any], given: Given) -> Any:
    """Factors that make the problem on X the one that was fitted on scaled columns."""
    factor = estimator.penalty_factor
    sketch = facts["sketch"]
    if not (estimator.standardized_ or (sketch is not None and sketch["scaled"])):
        return factor
    from sklearn.preprocessing import StandardScaler

    scales = StandardScaler(with_mean=False).fit(given.X).scale_
    return scales * (1.0 if factor is None else np.asarray(factor))


def _prediction_table(
    estimator: Model, given: Given, predictions: Any, ends: Any = None
) -> sl.io.Table:
    """Predictions as a table: numbers, or decision values with the label as their target."""
    if not hasattr(estimator, "classes_"):
        rows = predictions.reshape(len(predictions), -1)
        names = (
            ["prediction"]
            if rows.shape[1] == 1
            else [f"prediction {j + 1}" for j in range(rows.shape[1])]
        )
        if ends is not None:
            rows = _with_ends(predictions, ends)
            names = [
                name.replace("prediction", part)
                for name in names
                for part in ("prediction", "lower", "upper")
            ]
        return sl.io.Table(rows, None, tuple(names))
    scores = estimator.decision_function(given.X).reshape(len(predictions), -1)
    names = (
        ["decision"]
        if scores.shape[1] == 1
        else [f"decision {label(value)}" for value in estimator.classes_]
    )
    return sl.io.Table(scores, predictions, tuple(names), "prediction")


def _cell(text: str) -> str:
    """A text as a cell of a line with commas."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def _line(row: Any) -> str:
    return ",".join(
        label(value) if isinstance(value, str) else repr(value)
        for value in np.atleast_1d(row).tolist()
    )
