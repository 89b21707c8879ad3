"""`sketchlasso predict` and `sketchlasso certify`: a model file and new data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model, class_signs
from sketchlasso.interfaces.commands.data import Given, at_work, is_table, read_given, reads_blocks
from sketchlasso.interfaces.commands.describe import model_words, response_names
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    File,
    Files,
    ModelFile,
)
from sketchlasso.interfaces.commands.outputs import as_csv, check_table, write_columns
from sketchlasso.interfaces.commands.report import Report, Sheet, label, short
from sketchlasso.interfaces.commands.scoring import model_scores, score_facts, score_values
from sketchlasso.interfaces.commands.screen import Note, Screen
from sketchlasso.types import FloatArray

# Up to this relative gap the bound itself shows how good a model is.
CONCLUSIVE = 0.01


def predict(
    model: ModelFile,
    file: Files,
    data: BlockOptions,
    screen: Screen,
    output: Annotated[
        Path | None,
        "Table to write (.csv, .tsv, .parquet, .npz; - for stdout with names and row numbers); by "
        "default predictions alone go to stdout, one per line.",
    ] = None,
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

    They are scored as well if FILE holds the target.
    """
    check_table(output)
    if data.impute not in (None, "drop"):
        raise InvalidInputError(
            f"--impute {data.impute} does not apply to predict, which fills missing values as the "
            "fit did; leave it out, or give --impute drop to leave their rows out."
        )
    copied = [name.strip() for listed in columns or () for name in listed.split(",")]
    copied = [id, *copied] if id is not None else copied
    if copied and str(file[0]) == "-":
        raise InvalidInputError(
            "--id and --columns read the input a second time, which standard input does not allow; "
            "give a file."
        )
    estimator, given = _read_both(model, file, data, predicting=True, unused=copied)
    if interval is not None:
        _check_calibrated(estimator, model)
    beside: dict[str, Any] = {}
    if copied:
        texts = sl.io.read_text_columns(
            file,
            copied,
            format=data.format,
            separator=data.separator,
            header=data.names,
            text_encoding=data.encoding,
        )
        beside = {name: _plain(np.array(cells)[given.rows]) for name, cells in texts.items()}
    with screen.watching("predicting") as watch, at_work(given, data, watch):
        report, predicted = _predicted(estimator, given, interval)
    if output is not None:
        rows = {} if id is not None else {"row": given.rows + 1}
        printed = write_columns(output, {**rows, **beside, **predicted})
        return replace(report, outcome=printed)
    left_out = len(given.rows) and given.rows[-1] != len(given.rows) - 1
    rows = {"row": given.rows + 1} if left_out and id is None else {}
    shown = {name: part for name, part in predicted.items() if not name.startswith("decision")}
    named = {"ids": beside[next(iter(beside))]} if id is not None else {}
    if report.facts[0][0] != "data":  # scores; only predictions go to stdout
        scores = [" ".join(fact) for fact in report.facts[: len(report.data["scores"])]]
        warnings.warn(f"{', '.join(scores)} on these rows", Note, stacklevel=2)
    return replace(
        report,
        data={**report.data, **named},
        outcome=as_csv({**rows, **beside, **shown}, header=header),
    )


def _plain(texts: Any) -> Any:
    """Return text (m,) as whole numbers, if all of it is."""
    whole = all(text.isdecimal() and (text == "0" or text[0] != "0") for text in texts)
    return texts.astype(np.int64) if whole and max(map(len, texts)) < 19 else texts


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
    estimator: Model, given: Given, interval: float | None
) -> tuple[Report, dict[str, Any]]:
    """Return a report without scores on stdout, and the columns (m,) to write."""
    predictions = estimator.predict(given.X)
    if predictions.dtype == object:
        predictions = predictions.astype(str)  # labels of a data frame are text in objects
    empty = not np.any(getattr(estimator, "coef_", True))
    if empty:
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
        columns = dict(zip(names, decision.T, strict=True)) | {"prediction": predictions}
        return Report(document, facts=tuple(facts), fell_short=empty), columns
    rows = predictions.reshape(len(predictions), -1)
    ends = None
    if interval is not None:
        ends = estimator.predict_interval(given.X, interval)
        _describe_intervals(ends, estimator, given, interval, document, facts)
        ends = ends.reshape(*rows.shape, 2)
    for t in range(rows.shape[1]):
        target = f" {t + 1}" if rows.shape[1] > 1 else ""
        columns[f"prediction{target}"] = rows[:, t]
        if ends is not None:
            columns |= {f"lower{target}": ends[:, t, 0], f"upper{target}": ends[:, t, 1]}
    return Report(document, facts=tuple(facts), fell_short=empty), columns


def _describe_intervals(
    ends: FloatArray,
    estimator: Model,
    given: Given,
    level: float,
    document: dict[str, Any],
    facts: list[tuple[str, str]],
) -> None:
    """Add method and width of the intervals, and their coverage if y is known."""
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
        inside = (lower <= given.y) & (given.y <= upper)
        facts.append(("coverage", f"{np.mean(inside):.4f} of the responses are inside"))
        document["interval"]["coverage"] = float(np.mean(inside))


def certify(
    model: ModelFile,
    file: File,
    data: DataOptions,
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
        fell_short=worst > tol,
    )


def _proven(worst: float) -> tuple[tuple[str, str], ...]:
    """Return what the bounds prove, as facts."""
    if worst <= CONCLUSIVE:
        return (("proven", f"no other coefficients are better by more than {100 * worst:.2g} %"),)
    return (
        ("proven", "the optimum is between the lower bound and the objective"),
        (
            "note",
            "the bound is conservative, and a model of a sketch is usually far closer to the "
            "optimum; fit with --sketch none to close the gap",
        ),
    )


def _responses(estimator: Model, given: Given) -> Any:
    """Return the responses of the fit: y, or +1 and -1 for classes, one column per model."""
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
    return class_signs(y, classes)


def _penalty_factor(estimator: Model, facts: Mapping[str, Any], given: Given) -> Any:
    """Return penalty factors that undo the scaling of columns in the fit."""
    factor, sketch = estimator.penalty_factor, facts["sketch"]
    if not (estimator.standardized_ or (sketch is not None and sketch["scaled"])):
        return factor
    from sklearn.preprocessing import StandardScaler

    scales = StandardScaler(with_mean=False).fit(given.X).scale_
    return scales * (1.0 if factor is None else np.asarray(factor))


def _read_both(
    model: Path,
    files: list[Path],
    options: DataOptions,
    *,
    predicting: bool = False,
    unused: Sequence[str] = (),
) -> tuple[Model, Given]:
    """Read a model and data with its columns; the target may be absent from new data.

    For predicting, columns that the model does not use may be absent or hold anything; those of
    `unused` are no features where columns are taken as they stand.
    """
    info = sl.io.stored_info(model)
    estimator = sl.load_model(model)
    names = info.facts["feature_names"]
    encoding = _encoding(info.facts, files, options)
    if predicting:
        encoding = _used_columns(encoding, estimator)
    if encoding is None and unused and names is not None:
        left = [name for name in unused if name not in names]
        options = replace(options, drop=[*(options.drop or ()), *left])
    read = partial(read_given, files, encoding=encoding)
    given = _read_like(read, files[0], options, info.facts)
    if encoding is not None and encoding.columns:
        given = _widened(given, names)
    if names is not None:
        given = given.with_columns(names)
        # The columns are in the order of the fit: plain numbers need no names.
        vars(estimator).pop("feature_names_in_", None)
    if given.X.shape[1] != info.facts["n_features"]:
        raise InvalidInputError(
            f"{given.source} has {given.X.shape[1]} features but the model in {model} was fitted "
            f"on {info.facts['n_features']}; give data with the columns of the fit."
        )
    return estimator, given


def _encoding(
    facts: Mapping[str, Any], files: list[Path], options: DataOptions
) -> sl.io.Encoding | None:
    """Return how columns of a table become the features of a model; None for other files."""
    names, stored = facts["feature_names"], facts.get("encoding")
    encoding = None if stored is None else sl.io.Encoding.from_json(stored)
    if reads_blocks(files, options):
        return None
    if encoding is not None and not encoding.columns:
        return encoding if _is_svmlight(files[0], options) else None
    if names is None or not is_table(files[0], options.format):
        return None
    return encoding or sl.io.Encoding.of_numbers(names)


def _is_svmlight(file: Path, options: DataOptions) -> bool:
    names = [item.name for item in file.iterdir()] if file.is_dir() else [file.name]
    named = any(".svm" in name or ".libsvm" in name for name in names)
    return options.format == "svmlight" or (options.format is None and named)


def _used_columns(encoding: sl.io.Encoding | None, estimator: Model) -> sl.io.Encoding | None:
    """Return the columns with non-zero coefficients, or the first if there are none.

    A calibrated model needs all columns, for the coefficients of its calibration.
    """
    if encoding is None or not encoding.columns:
        return encoding
    if not hasattr(estimator, "coef_") or hasattr(estimator, "calibration_"):
        return encoding
    widths = [len(rule.feature_names) for rule in encoding.columns]
    nonzero = np.split(np.atleast_2d(estimator.coef_).any(axis=0), np.cumsum(widths)[:-1])
    kept = [rule for rule, own in zip(encoding.columns, nonzero, strict=True) if own.any()]
    return replace(encoding, columns=tuple(kept) or encoding.columns[:1])


def _widened(given: Given, names: Sequence[str]) -> Given:
    """Return the data with all features of a model; those that were not read are zero."""
    assert given.names is not None
    place = {name: j for j, name in enumerate(names)}
    X = np.zeros((given.X.shape[0], len(names)), dtype=given.X.dtype)
    X[:, [place[name] for name in given.names]] = given.X
    return replace(given, X=X, names=tuple(names))


def _read_like(
    read: Callable[[DataOptions], Given],
    first: Path,
    options: DataOptions,
    facts: Mapping[str, Any],
) -> Given:
    """Read data as those of the fit were read, unless options say otherwise."""
    target, names = facts["target_name"], facts["feature_names"]
    if _is_svmlight(first, options):
        return read(replace(options, n_features=options.n_features or int(facts["n_features"])))
    # A target that is left out is not read: its rows are predicted even where it is missing.
    if options.names_target() or target is None or names is None or target in (options.drop or []):
        return read(options)
    if first.name.startswith("docword.") or options.format == "bag-of-words":
        given = read(options)
        known = given.names is not None and target in given.names
        return given.without(target) if known and target not in names else given
    try:
        return read(replace(options, target=target))
    except InvalidInputError as problem:
        if problem.parameter != "target":
            raise
        return read(options)
