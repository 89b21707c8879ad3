"""`sketchlasso fit` and `sketchlasso cv`: a model of one penalty, given or chosen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands import describe, options
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.report import Facts, Report
from sketchlasso.interfaces.commands.scoring import (
    Score,
    held_out_scores,
    model_scores,
    score_facts,
)
from sketchlasso.interfaces.commands.screen import Screen

SPLITS = ("shuffled", "ordered", "time")
SCORES, CLASS_SCORES = ("mse", "mae", "r2"), ("accuracy", "f1", "auc")


@dataclass(frozen=True)
class SearchOptions:
    """Which penalties are compared, on which folds, by which score."""

    alphas: options.Alphas = "100"
    alpha_min_ratio: options.AlphaMinRatio = None
    folds: Annotated[int, "Number of folds."] = 5
    split: Annotated[
        str,
        "How rows are cut into folds: shuffled (classes in equal shares), ordered (consecutive "
        "rows), or time (trained on earlier rows only).",
    ] = "shuffled"
    selection: Annotated[str, "min: the best score; 1se: the sparsest within a standard error."] = (
        "min"
    )
    scoring: Annotated[str | None, "mse, mae or r2; for classes accuracy, f1, auc or mse."] = None

    def __post_init__(self) -> None:
        options.check_choice("--split", self.split, SPLITS)
        options.check_choice("--selection", self.selection, ("min", "1se"))
        options.alphas_of(self.alphas)
        if self.scoring is not None:
            options.check_choice("--scoring", self.scoring, (*SCORES, *CLASS_SCORES))

    def split_rows(self, y: Any, classes: bool, seed: int) -> list[tuple[Any, Any]]:
        """Return the training and test rows of each fold, for responses y (m,)."""
        from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

        stratified = classes and self.split != "time"
        labels, counts = np.unique(y, return_counts=True)
        most = int(counts.max()) if stratified else len(y) - (self.split == "time")
        if most < 2:
            raise InvalidInputError(
                "every row has a different class, but folds need classes of at least 2 rows; "
                "give more rows, or --split time."
            )
        if not 2 <= self.folds <= most:
            what = "rows of the largest class" if stratified else "rows to hold out"
            raise InvalidInputError(
                f"--folds must be from 2 to {most}, the {what}, not {self.folds}."
            )
        if stratified and counts.min() < self.folds:
            warnings.warn(
                f"class {labels[[counts.argmin()]].tolist()[0]!r} has {counts.min()} of the rows, "
                f"but --folds is {self.folds}, so some folds hold out none of its rows; give fewer "
                "folds, or more rows of this class.",
                stacklevel=2,
            )
        shuffled = {"shuffle": True, "random_state": seed} if self.split == "shuffled" else {}
        kind = TimeSeriesSplit if self.split == "time" else StratifiedKFold if classes else KFold
        with warnings.catch_warnings():
            # Reported above, in the words of the command line.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(kind(self.folds, **shuffled).split(np.zeros((len(y), 1)), y))


@dataclass(frozen=True)
class ResultOptions:
    """What to do with a fitted model, and what to report of it."""

    calibrate: Annotated[
        str | None,
        "Keep what predict --interval needs: jackknife+ (each row left out) or cv+ (ten folds). "
        "The fit is repeated without these rows.",
    ] = None
    output: Annotated[Path | None, "The model file to write."] = None
    plot: Annotated[
        Path | None,
        "Picture of the path and the effects, in cv of the scores too (.png, .svg, .pdf).",
    ] = None
    top: options.Top = 10
    verbose: options.Verbose = False

    def __post_init__(self) -> None:
        if self.calibrate is not None:
            options.check_choice("--calibrate", self.calibrate, ("jackknife+", "cv+"))
        if str(self.output) == "-":
            raise InvalidInputError("a model is no text for stdout; give --output a file name.")

    def check(self, given: Given, classes: bool) -> None:
        """Refuse, before the fit, a calibration that is impossible after it."""
        method = self.calibrate
        if method is None:
            return
        if classes:
            raise InvalidInputError(
                "--calibrate cannot be used for classes, because intervals are for numbers; leave "
                "it out, or give --regress."
            )
        if given.in_blocks:
            raise InvalidInputError(
                f"--calibrate {method} cannot be used for data in blocks, because rows are left "
                "out of data in memory; leave it out, or read one file without --memory."
            )

    def finish(self, estimator: Model, given: Given, seconds: float) -> Facts:
        """Calibrate, draw and save a fitted model as asked; return facts about the fit."""
        facts: Facts = ()
        if self.verbose:
            facts = (*describe.solver_facts(estimator), ("seconds", f"{seconds:.2f}"))
        method: Any = self.calibrate
        if method is not None:
            estimator.calibrate(given.X, given.response, method=method)
            given.note_on_gaps("--calibrate left rows out after gaps were filled from all rows")
            facts += (("calibrated", f"by {method} on {given.X.shape[0]} rows"),)
        describe.draw_model(estimator, given, self.plot)
        if self.output is not None:
            estimator.set_params(verbose=False)
            if given.names is not None and not sparse.issparse(given.X):
                # In Python the model then requires tables with these columns, in this order.
                estimator.feature_names_in_ = np.array(given.names, dtype=object)
            sl.save_model(
                self.output,
                estimator,
                X=given.X,
                feature_names=given.names,
                target_name=given.target_name,
                encoding=given.encoding,
            )
        return facts


def fit(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    result: ResultOptions,
    screen: Screen,
    alpha: Annotated[
        str,
        "Penalty: a number, or pivotal, rigorous or rigorous-robust, which need no "
        "cross-validation.",
    ] = "pivotal",
) -> Report:
    """Fit one penalty and write a model file.

    The square-root LASSO, or its classifier if the target means classes.
    """
    penalty = options.penalty_of(alpha, "rigorous", "rigorous-robust")
    given = read_given(file, data, needs_target=True)
    classes = given.is_classification(model.classify)
    result.check(given, classes)
    kind = sl.SqrtLassoClassifier if classes else sl.SqrtLasso
    start = perf_counter()
    with screen.watching("fitting") as watch, at_work(given, data, watch):
        estimator: Model = kind(
            alpha=penalty,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        scores = model_scores(estimator, given, estimator.predict(given.X))
        finished = result.finish(estimator, given, seconds)
    return Report(
        data={
            **_data(estimator, given),
            "training_scores": {name: score.value for name, score in scores.items()},
            "seconds": seconds,
        },
        facts=(
            *score_facts(scores, "on the training rows (use cv for held-out scores)"),
            *_facts(estimator, given),
            *finished,
        ),
        sheets=describe.effect_sheet(estimator, given.names, given.target_name, result.top),
        fell_short=not np.any(estimator.coef_),
    )


def cv(
    file: options.Files,
    data: options.BlockOptions,
    model: options.ModelOptions,
    search: SearchOptions,
    result: ResultOptions,
    screen: Screen,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    given = read_given(file, data, needs_target=True)
    classes = given.is_classification(model.classify)
    result.check(given, classes)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = search.scoring or ("accuracy" if classes else "mse")
    rows = search.split_rows(given.response, classes, model.seed)
    start = perf_counter()
    words = f"{search.folds}-fold cross-validation"
    with screen.watching(words) as watch, at_work(given, data, watch):
        estimator = kind(
            alphas=options.alphas_of(search.alphas),
            alpha_min_ratio=search.alpha_min_ratio,
            cv=rows,
            scoring=metric,
            selection=search.selection,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        estimator.set_params(cv=search.folds)
        finished = result.finish(estimator, given, seconds)
    scores, curves = held_out_scores(estimator, given, rows), describe.score_curves(estimator)
    where = f"on held-out rows ({search.folds} folds, {search.split})"
    return Report(
        data={
            **_data(estimator, given),
            "held_out": {
                name: {"mean": score.value, "standard_error": score.standard_error}
                for name, score in scores.items()
            },
            "folds": search.folds,
            "split": search.split,
            "scoring": metric,
            "selection": search.selection,
            "alpha_min": estimator.alpha_min_,
            "alpha_1se": estimator.alpha_1se_,
            "curves": curves,
            "seconds": seconds,
        },
        facts=(
            *score_facts(scores, where),
            *_facts(estimator, given),
            *_searched(search, result, metric, scores, curves),
            *finished,
        ),
        sheets=(
            *describe.effect_sheet(estimator, given.names, given.target_name, result.top),
            *(describe.curve_sheet(curves[0], metric) if result.verbose else ()),
        ),
        fell_short=not np.any(estimator.coef_),
    )


def _searched(
    search: SearchOptions,
    result: ResultOptions,
    metric: str,
    scores: dict[str, Score],
    curves: list[dict[str, Any]],
) -> Facts:
    """Report the score that chose the penalty, if asked and not among the scores already."""
    known = len(curves) == 1 and metric in map(str.lower, scores)
    if known or not (result.verbose or search.scoring is not None):
        return ()
    return ((metric, describe.chosen_words(curves)),)


def _data(estimator: Model, given: Given) -> dict[str, Any]:
    return {
        "n_samples": given.X.shape[0],
        "target": given.target_name,
        **describe.model_data(estimator),
        "coefficients": describe.listed_coefficients(estimator, given.names),
    }


def _facts(estimator: Model, given: Given) -> Facts:
    return (
        *given.facts(getattr(estimator, "classes_", None)),
        ("model", describe.model_words(estimator)),
    )
