"""`sketchlasso predict` and `sketchlasso certify`: a model file and new data."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model, class_signs
from sketchlasso.interfaces.commands import options
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.describe import model_words, response_names
from sketchlasso.interfaces.commands.outputs import TableOptions, as_csv
from sketchlasso.interfaces.commands.scoring import Score, model_scores, score_facts, score_values
from sketchlasso.interfaces.commands.screen import (
    Note,
    Report,
    Screen,
    facts_of,
    label,
    sheet_of,
)

# Up to this relative gap the bound itself shows how good a model is.
CONCLUSIVE = 0.01


def predict(
    model: options.ModelFile,
    file: options.Files,
    data: options.BlockOptions,
    table: TableOptions,
    screen: Screen,
    id: Annotated[
        str | None,
        "The column that identifies rows, to write with the predictions. Files have row numbers "
        "by default.",
    ] = None,
    columns: Annotated[
        list[str] | None,
        "Columns of FILE to write beside the predictions, as in --columns name,date.",
    ] = None,
    header: Annotated[
        bool,
        typer.Option("--header/--no-header", help="Begin the lines on stdout with names."),
    ] = False,
    interval: Annotated[
        float | None,
        "Add intervals that hold new responses with this probability, such as 0.9; the model has "
        "to be calibrated (fit --calibrate).",
    ] = None,
) -> Report:
    """Predict rows with a model file.

    They are scored as well if FILE holds the target. By default predictions alone go to stdout, one
    per line.
    """
    if data.impute in ("mean", "median"):
        raise InvalidInputError(
            f"--impute {data.impute} does not apply to predict, which fills missing values as the "
            "fit did; leave it out, or give --impute drop to leave their rows out."
        )
    copied = [name.strip() for listed in columns or () for name in listed.split(",")]
    copied = [*([] if id is None else [id]), *copied]
    estimator, given = _read_both(model, file, data, predicting=True, unused=copied)
    if interval is not None and not hasattr(estimator, "calibration_"):
        raise InvalidInputError(
            f"--interval was given, but {model} was saved without a calibration; fit it to a "
            "target of numbers with --calibrate jackknife+ (fit) or --calibrate cv+ (cv)."
        )
    beside = _copied(file, data, copied, given.rows)
    with screen.watching("predicting") as watch, at_work(given, data, watch):
        parts = _predictions(estimator, given)
        document: dict[str, Any] = {"n_samples": len(given.rows)}
        if interval is not None:
            ends = estimator.predict_interval(given.X, interval)
            document["interval"] = _interval_data(estimator, ends, given.y, interval)
            parts |= {"lower": ends[..., 0], "upper": ends[..., 1]}
    is_empty = not np.any(getattr(estimator, "coef_", True))
    if is_empty:
        words = "the model uses no feature, so it predicts a constant"
        warnings.warn(sl.errors.EmptyModelWarning(words), stacklevel=2)
    scores = _known_scores(estimator, given, parts["prediction"])
    if scores:
        document["scores"] = score_values(scores)
    facts = score_facts(scores)
    predicted = _one_column_each(parts, getattr(estimator, "classes_", None))
    numbers = {"row": given.rows + 1} if id is None else {}
    if table.output is not None:
        outcome = table.write({**numbers, **beside, **predicted})
    else:  # only predictions go to stdout
        if scores:
            words = ", ".join(" ".join(fact) for fact in facts)
            warnings.warn(f"{words} on these rows", Note, stacklevel=2)
        numbers = numbers if np.any(np.diff(given.rows, prepend=-1) > 1) else {}
        shown = {name: part for name, part in predicted.items() if not name.startswith("decision")}
        outcome = as_csv({**numbers, **beside, **shown}, header=header)
    return Report(
        {**document, "predictions": parts["prediction"], **({"ids": beside[id]} if id else {})},
        facts=(
            *facts,
            ("data", given.words()),
            ("model", model_words(estimator)),
            *facts_of(document.get("interval", {})),
        ),
        outcome=outcome,
        fell_short=is_empty,
    )


def _copied(
    file: list[Path], data: options.DataOptions, names: list[str], rows: Any
) -> dict[str, Any]:
    """Return columns of the input as text, at some rows."""
    if names and str(file[0]) == "-":
        raise InvalidInputError(
            "--id and --columns read the input a second time, which standard input does not allow; "
            "give a file."
        )
    texts = sl.io.read_text_columns(file, names, **data.text_layout()) if names else {}
    return {name: np.array(cells)[rows] for name, cells in texts.items()}


def _predictions(estimator: Any, given: Given) -> dict[str, Any]:
    """Return predictions, and for classes what decided them."""
    predictions = estimator.predict(given.X)
    if not hasattr(estimator, "classes_"):
        return {"prediction": predictions}
    if predictions.dtype == object:
        predictions = predictions.astype(str)  # labels of a data frame are text in objects
    return {"prediction": predictions, "decision": estimator.decision_function(given.X)}


def _known_scores(estimator: Model, given: Given, predictions: Any) -> dict[str, Score]:
    """Return the scores of predictions that are defined, if the data hold the target."""
    if given.y is None or given.y.shape != predictions.shape:
        return {}
    scores = model_scores(estimator, given, predictions)
    return {name: score for name, score in scores.items() if not np.isnan(score.value)}


def _one_column_each(parts: dict[str, Any], classes: Any) -> dict[str, Any]:
    """Return parts (m,) or (m, t) as named columns (m,), numbered or with the names of classes."""
    columns: dict[str, Any] = {}
    for name, values in parts.items():
        if values.ndim == 1:
            columns[name] = values
            continue
        numbers = range(1, values.shape[1] + 1) if classes is None else map(label, classes)
        columns |= {f"{name} {k}": part for k, part in zip(numbers, values.T, strict=True)}
    return columns


def _interval_data(estimator: Any, ends: Any, y: Any, level: float) -> dict[str, Any]:
    """Describe intervals (m, 2) or (m, t, 2), with their coverage of the responses if known."""
    lower, upper = ends[..., 0], ends[..., 1]
    count = len(estimator.calibration_.targets[0].residuals)
    width = float(np.median(upper - lower))
    if not np.isfinite(width):
        raise InvalidInputError(
            f"--interval {level:g} was given, but the {count} rows of the calibration support "
            f"{count / (count + 1):.4g} at most; give that or less, or calibrate on more rows."
        )
    data = {"level": level, "method": estimator.calibration_.method, "median_width": width}
    if y is not None and y.shape == lower.shape:
        data["coverage"] = float(np.mean((lower <= y) & (y <= upper)))
    return {**data, "lower": lower, "upper": upper}


def certify(
    model: options.ModelFile,
    file: options.File,
    data: options.DataOptions,
    screen: Screen,
    tol: Annotated[float, "End with exit code 1 if a relative gap is above this."] = CONCLUSIVE,
) -> Report:
    """Prove how far a model is from the optimum.

    Compares its objective in the full problem on FILE, without any sketch, with a lower bound that
    holds for all coefficients.
    """
    estimator, given = _read_both(model, [file], data)
    if isinstance(estimator, sl.engine.LinearModels):
        raise InvalidInputError(
            f"{model} holds linear models without their penalties; use certify in Python, which "
            "takes them."
        )
    y, facts, factor = given.response, sl.io.stored_info(model).facts, estimator.penalty_factor
    if hasattr(estimator, "classes_"):
        unknown = np.setdiff1d(y, estimator.classes_)
        if len(unknown):
            raise InvalidInputError(
                f"the target of {given.source} holds {label(unknown[0])!r}, which is none of the "
                "model's classes; give data with the classes of the fit."
            )
        y = class_signs(y, estimator.classes_)
    if estimator.standardized_ or (facts["sketch"] is not None and facts["sketch"]["scaled"]):
        from sklearn.preprocessing import StandardScaler

        scales = StandardScaler(with_mean=False).fit(given.X).scale_
        factor = scales * (1.0 if factor is None else np.asarray(factor))
    proof = sl.certify(
        given.X,
        y,
        np.atleast_2d(estimator.coef_),
        np.atleast_1d(estimator.alpha_),
        penalty_factor=factor,
        fit_intercept=estimator.fit_intercept,
        positive=estimator.positive,
    )
    worst = float(proof.relative_gap.max())
    columns = {
        "alpha": np.atleast_1d(estimator.alpha_),
        "objective": proof.primal,
        "lower_bound": proof.dual,
        "relative_gap": proof.relative_gap,
    }
    proven = f"no other coefficients are better by more than {100 * worst:.2g} %"
    if worst > CONCLUSIVE:
        proven = (
            "the optimum is between the lower bound and the objective; the bound is conservative, "
            "and a model of a sketch is usually far closer; fit with --sketch none to close the gap"
        )
    if estimator.relaxed:
        proven += "; relaxed coefficients minimise another objective"
    same = facts["fingerprint"] == sl.engine.fingerprint(given.X)
    names = response_names(estimator, given.target_name or "target")
    listed = [("response", names), *((name.replace("_", " "), columns[name]) for name in columns)]
    return Report(
        {"same_data": same, **columns},
        facts=(
            ("data", given.words() + ("" if same else " (not those of the fit)")),
            ("proven", proven),
        ),
        sheets=sheet_of("full problem", listed, range(len(names))),
        fell_short=worst > tol,
    )


def _read_both(
    model: Path,
    files: list[Path],
    data: options.DataOptions,
    *,
    predicting: bool = False,
    unused: list[str] | None = None,
) -> tuple[Any, Given]:
    """Read a model and data with its columns; the target may be absent from new data.

    For predicting, columns that the model does not use may be absent or hold anything; those of
    `unused` are no features where columns are taken as they stand.
    """
    facts, estimator = sl.io.stored_info(model).facts, sl.load_model(model)
    names, target = facts["feature_names"], facts["target_name"]
    roles: dict[str, Any] = {}
    if facts.get("encoding") is not None:
        roles["encoding"] = sl.io.Encoding.from_json(facts["encoding"])
    elif names is not None:
        roles["encoding"] = sl.io.Encoding.of_numbers(names)
    if predicting and roles:
        roles["encoding"] = _used_columns(roles["encoding"], estimator)
    if names is not None and data.in_blocks:
        others = [name for name in unused or () if name not in names]
        data = replace(data, drop=[*(data.drop or ()), *others])
    named = {"target": target}
    if target is None or names is None or data.names_target or target in (data.drop or ()):
        named = {}
    try:
        given = read_given(files, data, **named, **roles)
    except InvalidInputError as problem:
        if not named or problem.parameter != "target":
            raise
        given = read_given(files, data, **roles)
    return estimator, _aligned(estimator, given, facts, model)


def _aligned(estimator: Any, given: Given, facts: Any, model: Path) -> Given:
    """Return the data with the columns of the fit, in their order."""
    names = facts["feature_names"]
    if names is not None and given.names is not None:
        if not set(given.names) <= set(names) or (given.in_blocks and given.names != tuple(names)):
            raise InvalidInputError(
                f"{given.source} has other columns than the data that {model} was fitted on, or in "
                "another order; give data with the columns of the fit."
            )
        if given.names != tuple(names):  # features that were not read have no coefficient
            X = np.zeros((given.X.shape[0], len(names)), dtype=given.X.dtype)
            X[:, [names.index(name) for name in given.names]] = given.X
            given = replace(given, X=X, names=tuple(names))
        # The columns are in the order of the fit: plain numbers need no names.
        vars(estimator).pop("feature_names_in_", None)
    if given.X.shape[1] != facts["n_features"]:
        raise InvalidInputError(
            f"{given.source} has {given.X.shape[1]} features but the model in {model} was fitted "
            f"on {facts['n_features']}; give data with the columns of the fit."
        )
    return given


def _used_columns(encoding: sl.io.Encoding, estimator: Model) -> sl.io.Encoding:
    """Return the columns with non-zero coefficients, or the first if there are none.

    A calibrated model needs all columns, for the coefficients of its calibration.
    """
    if not hasattr(estimator, "coef_") or hasattr(estimator, "calibration_"):
        return encoding
    used = np.asarray(np.atleast_2d(estimator.coef_).any(axis=0))
    first, kept = 0, []
    for rule in encoding.columns:
        width = len(rule.feature_names)
        if used[first : first + width].any():
            kept.append(rule)
        first += width
    return replace(encoding, columns=tuple(kept) or encoding.columns[:1])
