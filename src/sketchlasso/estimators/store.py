"""Fitted models in files without pickle, read back as estimators that predict alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import MatrixLike, fingerprint
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.classification import SqrtLassoClassifier, SqrtLassoClassifierCV
from sketchlasso.estimators.intervals import Calibration, TargetResiduals
from sketchlasso.estimators.regression import SqrtLasso, SqrtLassoCV
from sketchlasso.io.encoding import Encoding
from sketchlasso.results import LinearModels, RadiusPolicy
from sketchlasso.storage import Stored, matrix_arrays, reading, write_stored

ESTIMATORS = {
    kind.__name__: kind
    for kind in (SqrtLasso, SqrtLassoCV, SqrtLassoClassifier, SqrtLassoClassifierCV)
}
# Fitted attributes with a place of their own in a file; the others are stored as they are.
APART = {"coef_", "classes_", "calibration_", "sketch_"}
APART |= {"feature_names_in_", "n_features_in_", "feature_std_"}
SKETCH_FACTS = ("method", "rank", "response_rank", "radius", "radius_kind", "seed", "fingerprint")


def save_model(
    path: str | os.PathLike[str],
    model: Any,
    *,
    X: MatrixLike | None = None,
    feature_names: Sequence[str] | None = None,
    target_name: str | None = None,
    encoding: Encoding | None = None,
) -> None:
    """Write a fitted model to a file; :func:`load_model` reads it back.

    The facts of the file, which :func:`stored_info` returns, are ``estimator`` (the class),
    ``library`` (the version that wrote it), ``settings`` (the parameters), ``fitted`` (fitted
    attributes that are plain values), ``n_features``, ``single`` (one target without an axis of its
    own), ``feature_names``, ``named`` (whether the fit saw them), ``target_name``,
    ``object_labels``, ``sketch`` (how it was made), ``fingerprint`` of X, ``encoding`` of the
    columns and ``calibration`` (its method). The arrays are the coefficients as sparse rows
    (``coef.data``, ``coef.indices``, ``coef.indptr``), ``classes``, ``feature_std``, and
    ``fitted.NAME``, ``settings.NAME`` and ``calibration.NUMBER.PART``.

    The sketch itself is not kept; :meth:`Sketch.save` does that. Nor are parameters that are
    objects of other libraries (a splitter, a RandomState): they come back as their defaults.

    Parameters
    ----------
    path : path-like
        Replaced if it exists; never left half-written. Path and model may change places.
    model : SqrtLasso, SqrtLassoCV, SqrtLassoClassifier, SqrtLassoClassifierCV or LinearModels
        Fitted.
    X : array or sparse matrix of shape (n_samples, n_features), optional
        The data of the fit, for their fingerprint.
    feature_names : sequence of str of length n_features, optional
        Where the fit did not see names.
    target_name : str, optional
    encoding : Encoding, optional
        How the columns of a file became the features. ``Encoding.from_json`` makes it of the fact
        ``encoding`` of :func:`stored_info`, and :func:`read_table` reads another file by it.

    Raises
    ------
    InvalidInputError
        It is no fitted model of ours, or the names do not fit it.
    StoredFileError
        The file cannot be written.

    Examples
    --------
    >>> import numpy as np, sketchlasso as sl
    >>> X = np.random.default_rng(0).standard_normal((50, 5))
    >>> model = sl.SqrtLasso(alpha=1.0).fit(X, X[:, 0])
    >>> sl.save_model("first.model", model, X=X)  # doctest: +SKIP
    >>> sl.load_model("first.model").predict(X[:3])  # doctest: +SKIP
    """
    if isinstance(model, str | os.PathLike):
        path, model = model, path
    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    if isinstance(model, LinearModels):
        coef, facts, arrays = model.coef, {}, {"intercept": model.intercept}
    elif type(model) in ESTIMATORS.values():
        check_is_fitted(model)
        coef = sparse.csr_array(np.atleast_2d(model.coef_))
        facts, arrays = _packed(model)
    else:
        raise InvalidInputError(
            f"model is a {type(model).__name__}, but {', '.join(ESTIMATORS)} or LinearModels is "
            "needed; pass a path and one of them, fitted."
        )
    n_features, seen = coef.shape[1], getattr(model, "feature_names_in_", None)
    names = seen if feature_names is None else feature_names
    names = None if names is None else [str(name) for name in names]
    if names is not None and (
        len(names) != n_features or (seen is not None and names != list(seen))
    ):
        raise InvalidInputError(
            f"feature_names has {len(names)} names, but the model has {n_features} features"
            f"{'' if seen is None else ' with names of their own'}; give one name per feature in "
            "the order of the fit, or leave them out."
        )
    try:
        library = version("sketchlasso")
    except PackageNotFoundError:  # a source tree that is not installed
        library = "0+unknown"
    facts |= {
        "estimator": type(model).__name__,
        "library": library,
        "n_features": n_features,
        "feature_names": names,
        "target_name": target_name,
        "fingerprint": None if X is None else fingerprint(X),
        "encoding": None if encoding is None else encoding.to_json(),
    }
    write_stored(path, "model", facts, arrays | matrix_arrays("coef", coef))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save_model` wrote.

    :func:`stored_info` reports what else the file holds: names, fingerprint, version.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SqrtLasso, SqrtLassoCV, SqrtLassoClassifier, SqrtLassoClassifierCV or LinearModels
        As it was saved, without ``sketch_``.

    Raises
    ------
    StoredFileError
        The file is missing, damaged, foreign, or of another version.
    """
    with reading(path, "model") as stored:
        shape = len(stored.array("coef.indptr", (None,), "iu")) - 1, stored.fact("n_features", int)
        coef = stored.matrix("coef", shape)
        if stored.fact("estimator", str) == "LinearModels":
            return LinearModels(coef, stored.array("intercept", shape[:1]))
        return _unpacked(stored, coef)


def _packed(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Facts and arrays of an estimator, apart from its coefficients and names."""
    settings = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    arrays = {
        f"settings.{name}": np.asarray(getattr(model, name))
        for name, value in settings.items()
        if value == {"array": True}
    }
    fitted = {}
    for name, value in vars(model).items():
        if not _is_stored(name):
            continue
        if value is None or type(value) in (bool, int, str):
            fitted[name] = value
        else:
            arrays[f"fitted.{name}"] = np.asarray(value)
    if model.feature_std_ is not None:
        arrays |= matrix_arrays("feature_std", sparse.csr_array(model.feature_std_[None]))
    facts: dict[str, Any] = {
        "settings": settings,
        "fitted": fitted,
        "single": model.coef_.ndim == 1,
        "named": hasattr(model, "feature_names_in_"),
        "sketch": None,
    }
    sketch = getattr(model, "sketch_", None)
    if sketch is not None:
        facts["sketch"] = {name: getattr(sketch, name) for name in SKETCH_FACTS}
        facts["sketch"]["scaled"] = sketch.column_scales is not None
    if hasattr(model, "classes_"):
        labels = np.asarray(model.classes_)
        facts["object_labels"] = labels.dtype == object
        if labels.dtype == object and not all(isinstance(label, str) for label in labels):
            raise InvalidInputError(
                f"the classes {labels[:3]!r} are objects other than text, which a file "
                "without pickle cannot hold; fit with numbers or text as labels."
            )
        arrays["classes"] = labels.astype(str) if labels.dtype == object else labels
    if hasattr(model, "calibration_"):
        facts["calibration"] = {"method": model.calibration_.method}
        arrays |= _residual_arrays(model.calibration_)
    return facts, arrays


def _residual_arrays(calibration: Calibration) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for number, target in enumerate(calibration.targets):
        name = f"calibration.{number}"
        arrays[f"{name}.residuals"] = target.residuals
        if target.models is not None and target.groups is not None:
            arrays[f"{name}.groups"] = target.groups
            arrays[f"{name}.intercept"] = target.models.intercept
            arrays |= matrix_arrays(f"{name}.coef", target.models.coef)
    return arrays


def _unpacked(stored: Stored, coef: Any) -> Any:
    """The estimator of :func:`_packed`, with coefficients (t, n)."""
    targets, n_features = coef.shape
    settings = stored.part("settings")
    parameters = {
        name: value for name, value in settings.facts.items() if not isinstance(value, dict)
    }
    for name in settings.arrays:
        value = settings.array(name, None, "biuf", finite=False)
        parameters[name] = value if value.ndim else value.item()
    model = ESTIMATORS[stored.fact("estimator", str)](**parameters)
    model.coef_ = coef.toarray()[0] if stored.fact("single", bool) else coef.toarray()
    model.n_features_in_ = n_features
    fitted = stored.part("fitted")
    if not all(map(_is_stored, (*fitted.arrays, *fitted.facts))):
        raise ValueError("it has attributes that no fit sets")
    for name, value in fitted.facts.items():
        setattr(model, name, value)
    for name in fitted.arrays:
        value = fitted.array(name, None, "biuf", finite=name == "intercept_")
        setattr(model, name, value if value.ndim else value[()])
    if np.shape(model.intercept_) != model.coef_.shape[:-1]:
        raise ValueError("its intercepts and coefficients are of different numbers of targets")
    model.feature_std_ = None
    if "feature_std.data" in stored.arrays:
        model.feature_std_ = stored.matrix("feature_std", (1, n_features)).toarray()[0]
    if stored.fact("named", bool):
        model.feature_names_in_ = np.array(stored.fact("feature_names", list), dtype=object)
    if hasattr(model, "decision_function"):
        labels = stored.array("classes", (2 if targets == 1 else targets,), "biufU")
        model.classes_ = labels.astype(object) if stored.fact("object_labels", bool) else labels
    if "calibration" in stored.facts:
        part = stored.part("calibration")
        residuals = [_residuals(part, str(number), n_features) for number in range(targets)]
        model.calibration_ = Calibration(part.fact("method", str), tuple(residuals))
    return model


def _residuals(stored: Stored, number: str, n_features: int) -> TargetResiduals:
    residuals = stored.array(f"{number}.residuals", (None,))
    if f"{number}.groups" not in stored.arrays:
        return TargetResiduals(residuals)
    intercept = stored.array(f"{number}.intercept", (None,))
    coef = stored.matrix(f"{number}.coef", (len(intercept), n_features))
    groups = stored.array(f"{number}.groups", residuals.shape, "iu").astype(np.intp)
    return TargetResiduals(residuals, LinearModels(coef, intercept), groups)


def _is_stored(name: str) -> bool:
    """Whether an attribute is one of a fit that is stored under its own name."""
    return name.endswith("_") and not name.startswith("_") and name not in APART


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it, or a mark of what stands in its place."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    if isinstance(value, RadiusPolicy):
        factor = float(value.factor)
        return factor if value.kind == "given" else f"{factor!r}*{value.kind}"
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        if not any(isinstance(part, dict) for part in parts):
            return parts
        numbers = all(isinstance(part, float | int) for part in value)  # some are not finite
    else:
        numbers = isinstance(value, float) or (
            hasattr(value, "__array__") and np.asarray(value).dtype.kind in "biuf"
        )
    return {"array": True} if numbers else {"left_out": type(value).__name__}
