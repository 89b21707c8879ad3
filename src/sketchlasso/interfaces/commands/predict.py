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
from sketchlasso.interfaces.commands.scoring import model_scores, score_facts, score_values
from sketchlasso.interfaces.commands.screen import Note, Report, Screen, Sheet, label, short

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
    if data.impute not in (None, "drop"):
        raise InvalidInputError(
            f"--impute {data.impute} does not apply to predict, which fills missing values as the "
            "fit did; leave it out, or give --impute drop to leave their rows out."
        )
    copied = [name.strip() for listed in columns or () for name in listed.split(",")]
    copied = [*([] if id is None else [id]), *copied]
    if copied and str(file[0]) == "-":
        raise InvalidInputError(
            "--id and --columns read the input a second time, which standard input does not allow; "
            "give a file."
        )
    estimator, given = _read_both(model, file, data, predicting=True, unused=copied)
    if interval is not None and not hasattr(estimator, "calibration_"):
        raise InvalidInputError(
            f"--interval was given, but {model} was saved without a calibration; fit it to a "
            "target of numbers with --calibrate jackknife+ (fit) or --calibrate cv+ (cv)."
        )
    beside: dict[str, Any] = {}
    if copied:
        texts = sl.io.read_text_columns(file, copied, **data.text_layout())
        beside = {name: _plain(np.array(cells)[given.rows]) for name, cells in texts.items()}
    with screen.watching("predicting") as watch, at_work(given, data, watch):
        report, predicted = _predicted(estimator, given, interval)
    numbers = {"row": given.rows + 1} if id is None else {}
    if table.output is not None:
        return replace(report, outcome=table.write({**numbers, **beside, **predicted}))
    if report.data.get("scores"):  # only predictions go to stdout
        scores = [" ".join(fact) for fact in report.facts[: len(report.data["scores"])]]
        warnings.warn(f"{', '.join(scores)} on these rows", Note, stacklevel=2)
    left_out = len(given.rows) and given.rows[-1] != len(given.rows) - 1
    shown = {name: part for name, part in predicted.items() if not name.startswith("decision")}
    lines = {**(numbers if left_out else {}), **beside, **shown}
    ids = {} if id is None else {"ids": next(iter(beside.values()))}
    return replace(report, data={**report.data, **ids}, outcome=as_csv(lines, header=header))


def _plain(texts: Any) -> Any:
    """Return text (m,) as whole numbers, if all of it is."""
    whole = all(text.isdecimal() and (text == "0" or text[0] != "0") for text in texts)
    return texts.astype(np.int64) if whole and max(map(len, texts)) < 19 else texts


def _predicted(
    estimator: Model, given: Given, interval: float | None
) -> tuple[Report, dict[str, Any]]:
    """Return a report without scores on stdout, and the columns (m,) to write."""
    predictions = estimator.predict(given.X)
    if predictions.dtype == object:
        predictions = predictions.astype(str)  # labels of a data frame are text in objects
    is_empty = not np.any(getattr(estimator, "coef_", True))
    if is_empty:
        warnings.warn(
            sl.errors.EmptyModelWarning("the model uses no feature, so it predicts a constant"),
            stacklevel=2,
        )
    document: dict[str, Any] = {"n_samples": len(predictions), "predictions": predictions}
    facts: list[tuple[str, str]] = []
    if given.y is not None and given.y.shape == predictions.shape:
        scores = model_scores(estimator, given, predictions)
        scores = {name: one for name, one in scores.items() if not np.isnan(one.value)}
        facts += score_facts(scores)
        document["scores"] = score_values(scores)
    facts += [("data", given.words()), ("model", model_words(estimator))]
    columns: dict[str, Any] = {}
    if hasattr(estimator, "classes_"):
        decision = estimator.decision_function(given.X).reshape(len(predictions), -1)
        several = decision.shape[1] > 1
        names = [f"decision {label(c)}" for c in estimator.classes_] if several else ["decision"]
        columns = {**dict(zip(names, decision.T, strict=True)), "prediction": predictions}
    else:
        parts = {"prediction": predictions}
        if interval is not None:
            parts |= _intervals(estimator, given, interval, document, facts)
        count = 1 if predictions.ndim == 1 else predictions.shape[1]
        for t in range(count):
            for name, values in parts.items():
                numbered = f"{name} {t + 1}" if count > 1 else name
                columns[numbered] = values.reshape(len(values), -1)[:, t]
    return Report(document, facts=tuple(facts), fell_short=is_empty), columns


def _intervals(
    estimator: Any,
    given: Given,
    level: float,
    document: dict[str, Any],
    facts: list[tuple[str, str]],
) -> dict[str, Any]:
    """Return the ends of intervals; report their method and width, and coverage if y is known."""
    ends = estimator.predict_interval(given.X, level)
    method = estimator.calibration_.method
    count = len(estimator.calibration_.targets[0].residuals)
    lower, upper = ends[..., 0], ends[..., 1]
    width = float(np.median(upper - lower))
    if not np.isfinite(width):
        raise InvalidInputError(
            f"--interval {level:g} was given, but the {count} rows of the calibration support "
            f"{count / (count + 1):.4g} at most; give that or less, or calibrate on more rows."
        )
    words = f"{level:g} by {method} from {count} rows, median width {width:.4g}"
    facts.append(("intervals", words))
    document["interval"] = {"level": level, "method": method, "lower": lower, "upper": upper}
    if given.y is not None and given.y.ndim == lower.ndim:
        inside = float(np.mean((lower <= given.y) & (given.y <= upper)))
        facts.append(("coverage", f"{inside:.4f} of the responses are inside"))
        document["interval"]["coverage"] = inside
    return {"lower": lower, "upper": upper}


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
    found = sl.certify(
        given.X,
        y,
        np.atleast_2d(estimator.coef_),
        np.atleast_1d(estimator.alpha_),
        penalty_factor=factor,
        fit_intercept=estimator.fit_intercept,
        positive=estimator.positive,
    )
    same = facts["fingerprint"] == sl.engine.fingerprint(given.X)
    worst = float(found.relative_gap.max())
    columns = {
        "alpha": np.atleast_1d(estimator.alpha_),
        "objective": found.primal,
        "lower_bound": found.dual,
        "relative_gap": found.relative_gap,
    }
    names = map(short, response_names(estimator, given.target_name or "target"))
    rows = tuple(zip(names, *(map(float, part) for part in columns.values()), strict=True))
    heads = ("response", *(name.replace("_", " ") for name in columns))
    proven = [("proven", f"no other coefficients are better by more than {100 * worst:.2g} %")]
    if worst > CONCLUSIVE:
        proven = [
            ("proven", "the optimum is between the lower bound and the objective"),
            (
                "note",
                "the bound is conservative, and a model of a sketch is usually far closer to the "
                "optimum; fit with --sketch none to close the gap",
            ),
        ]
    if estimator.relaxed:
        proven.append(("note", "relaxed coefficients minimise another objective"))
    return Report(
        data={"same_data": same, **columns},
        facts=(("data", given.words() + ("" if same else " (not those of the fit)")), *proven),
        sheets=(Sheet("full problem", heads, rows),),
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
    names, encoding = facts["feature_names"], None
    if facts.get("encoding") is not None:
        encoding = sl.io.Encoding.from_json(facts["encoding"])
    elif names is not None:
        encoding = sl.io.Encoding.of_numbers(names)
    if predicting and encoding is not None:
        encoding = _used_columns(encoding, estimator)
    if names is not None and encoding is not None and data.in_blocks:
        others = [name for name in unused or () if name not in names]
        data = replace(data, drop=[*(data.drop or ()), *others])
    roles: dict[str, Any] = {} if encoding is None else {"encoding": encoding}
    target = facts["target_name"]
    if target is None or names is None or data.names_target or target in (data.drop or ()):
        given = read_given(files, data, **roles)
    else:
        try:
            given = read_given(files, data, target=target, **roles)
        except InvalidInputError as problem:
            if problem.parameter != "target":
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
