"""`sketchlasso fit` and `sketchlasso cv`: a model of one penalty, given or chosen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import numpy as np
import typer
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands import describe, options
from sketchlasso.interfaces.commands.data import Given, at_work, read_given
from sketchlasso.interfaces.commands.outputs import PlotOptions
from sketchlasso.interfaces.commands.scoring import (
    held_out_scores,
    model_scores,
    score_facts,
    score_values,
)
from sketchlasso.interfaces.commands.screen import Facts, Report, Screen

Scoring = Literal["mse", "mae", "r2", "accuracy", "f1", "auc"]


@dataclass(frozen=True)
class SearchOptions:
    """Which penalties are compared, on which folds, by which score."""

    alphas: options.Alphas = "100"
    alpha_min_ratio: options.AlphaMinRatio = None
    folds: Annotated[int, typer.Option(help="Number of folds.", min=2)] = 5
    split: Annotated[
        Literal["shuffled", "ordered", "time"],
        "How rows are cut into folds: shuffled (classes in equal shares), ordered (consecutive "
        "rows), or time (trained on earlier rows only).",
    ] = "shuffled"
    selection: Annotated[
        Literal["min", "1se"], "min: the best score; 1se: the sparsest within a standard error."
    ] = "min"
    scoring: Annotated[Scoring | None, "mse, mae or r2; for classes accuracy, f1, auc or mse."] = (
        None
    )

    def __post_init__(self) -> None:
        options.alphas_of(self.alphas)

    def split_rows(self, y: Any, classes: bool, seed: int) -> list[tuple[Any, Any]]:
        """Return the training and test rows of each fold, for responses y (m,)."""
        from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

        shuffled = {"shuffle": True, "random_state": seed} if self.split == "shuffled" else {}
        kind = TimeSeriesSplit if self.split == "time" else StratifiedKFold if classes else KFold
        try:
            return list(kind(self.folds, **shuffled).split(np.zeros((len(y), 1)), y))
        except ValueError as refused:  # more folds than rows
            raise InvalidInputError(
                f"--folds {self.folds} cannot be used ({str(refused).rstrip('.')}); give fewer."
            ) from None


@dataclass(frozen=True)
class ResultOptions(PlotOptions):
    """What to do with a fitted model, and what to report of it."""

    calibrate: Annotated[
        Literal["jackknife+", "cv+"] | None,
        "Keep what predict --interval needs: jackknife+ (each row left out) or cv+ (ten folds). "
        "The fit is repeated without these rows.",
    ] = None
    output: Annotated[Path | None, "The model file to write."] = None
    top: options.Top = 10
    verbose: options.Verbose = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if str(self.output) == "-":
            raise InvalidInputError("a model is no text for stdout; give --output a file name.")

    def check(self, given: Given, classes: bool) -> None:
        """Refuse, before the fit, a calibration that is impossible after it."""
        if self.calibrate is not None and (classes or given.in_blocks):
            raise InvalidInputError(
                f"--calibrate {self.calibrate} cannot be used for classes or for data in blocks; "
                "leave it out, or give --regress, or one file without --memory."
            )

    def finish(self, estimator: Model, given: Given, seconds: float) -> Facts:
        """Calibrate, draw and save a fitted model as asked; return facts about the fit."""
        facts: Facts = ()
        if self.verbose:
            facts = (*describe.solver_facts(estimator), ("seconds", f"{seconds:.2f}"))
        if self.calibrate is not None:
            regressor: Any = estimator
            regressor.calibrate(given.X, given.response, method=self.calibrate)
            given.note_on_gaps("--calibrate left rows out after gaps were filled from all rows")
            facts += (("calibrated", f"by {self.calibrate} on {given.X.shape[0]} rows"),)
        describe.draw_model(estimator, given, self)
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
        parameters = model.estimator_parameters(given.X, watch)
        estimator: Model = kind(alpha=penalty, **parameters).fit(given.X, given.response)
        seconds = perf_counter() - start
        scores = model_scores(estimator, given, estimator.predict(given.X))
        finished = result.finish(estimator, given, seconds)
    return _report(
        estimator,
        given,
        result,
        {"training_scores": score_values(scores), "seconds": seconds},
        score_facts(scores, "on the training rows (use cv for held-out scores)"),
        finished,
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
    if search.scoring is not None and metric not in map(str.lower, scores):
        mean = np.mean([curve["mean"][curve["chosen"]] for curve in curves])
        finished = ((metric, f"{mean:.4g} on held-out rows"), *finished)
    return _report(
        estimator,
        given,
        result,
        {
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
        score_facts(scores, f"on held-out rows ({search.folds} folds, {search.split})"),
        finished,
    )


def _report(
    estimator: Model,
    given: Given,
    result: ResultOptions,
    data: dict[str, Any],
    scores: Facts,
    finished: Facts,
) -> Report:
    """Return the report of a fitted model: how good it is, then what it is."""
    return Report(
        data={
            "n_samples": given.X.shape[0],
            "target": given.target_name,
            **describe.model_data(estimator),
            "coefficients": describe.listed_coefficients(estimator, given.names),
            **data,
        },
        facts=(
            *scores,
            *given.facts(getattr(estimator, "classes_", None)),
            ("model", describe.model_words(estimator)),
            *finished,
        ),
        sheets=describe.effect_sheet(estimator, given.names, given.target_name, result.top),
        fell_short=not np.any(estimator.coef_),
    )
