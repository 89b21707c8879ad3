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
from sketchlasso.estimators.calibration import packed_calibration, unpacked_calibration
from sketchlasso.estimators.classification import SqrtLassoClassifier, SqrtLassoClassifierCV
from sketchlasso.estimators.regression import SqrtLasso, SqrtLassoCV
from sketchlasso.files import Encoding
from sketchlasso.results import LinearModels, RadiusPolicy
from sketchlasso.sketches import Sketch
from sketchlasso.storage.container import MODEL, read_container, unpacking, write_container
from sketchlasso.storage.door import UnfitError, check_facts, check_memory, check_numbers
from sketchlasso.storage.sparse import checked_csr

ESTIMATORS = {
    kind.__name__: kind
    for kind in (SqrtLasso, SqrtLassoCV, SqrtLassoClassifier, SqrtLassoClassifierCV)
}
MODELS = LinearModels.__name__
# Fitted numbers, kept in arrays of their own; those an estimator lacks are left out.
NUMBERS = (
    "intercept_",
    "alpha_",
    "radius_",
    "dual_gap_",
    "full_gap_",
    "loadings_",
    "scale_",
    "penalised_coef_",
    "penalised_intercept_",
    "alpha_min_",
    "alpha_1se_",
    "alphas_",
    "mse_path_",
    "score_path_",
    "n_nonzero_path_",
    "fold_share_",
    "oof_prediction_",
    "oof_decision_",
)
SPARSE = ("data", "indices", "indptr")
ARRAY, POLICY, LEFT_OUT = "array", "radius", "left_out"
# Types of the facts in the header of a file: of any model, of an estimator, of its parameters that
# switch something on, and of its sketch.
FACTS: dict[str, tuple[type, ...]] = {
    "estimator": (str,),
    "library": (str,),
    "n_features": (int,),
    "feature_names": (list, type(None)),
    "target_name": (str, type(None)),
    "fingerprint": (str, type(None)),
}
ESTIMATOR_FACTS: dict[str, tuple[type, ...]] = {
    "settings": (dict,),
    "dtype": (str,),
    "single": (bool,),
    "n_iter": (int,),
    "named": (bool,),
    "sketch": (dict, type(None)),
}
SWITCHES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("fit_intercept", "positive", "relaxed"), (bool, int)),
    "standardize": (bool, int, str),
}
SKETCH_FACTS: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "rank": (int,),
    "seed": (int, type(None)),
    "scaled": (bool,),
}


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

    The container is described in :mod:`sketchlasso.storage.container`. Its header holds
    ``content`` ("model"), ``estimator`` (the class), ``library`` (the version that wrote it),
    ``settings`` (the parameters), ``n_features``, ``dtype``, ``single`` (one target without an
    axis of its own), ``n_iter``, ``standardized``, ``feature_names``, ``named`` (whether the fit
    saw them), ``target_name``, ``labels_are_objects``, ``sketch`` (how it was made),
    ``fingerprint`` of X and ``encoding`` of the columns. Its arrays are the coefficients as sparse
    rows (``coef.data``, ``coef.indices``, ``coef.indptr``), the other fitted attributes under
    their own names, and parameters that are arrays as ``settings.NAME``. A calibrated model has
    ``calibration`` (the method) in its header and its residuals and models as
    ``calibration.NUMBER.PART``.

    The sketch itself is not kept; :meth:`Sketch.save` does that. Nor are parameters that are
    objects of other libraries (a splitter, a RandomState): they come back as their defaults.

    Parameters
    ----------
    path : path-like
        Replaced if it exists; never left half-written.
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
    coef: Any
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    if isinstance(model, LinearModels):
        coef, header, arrays = model.coef, {}, {"intercept_": model.intercept}
    elif type(model) in ESTIMATORS.values():
        check_is_fitted(model)
        coef = sparse.csr_array(np.atleast_2d(model.coef_))
        header, arrays = _described(model)
    else:
        raise InvalidInputError(
            f"model is a {type(model).__name__}, but {', '.join(ESTIMATORS)} or {MODELS} is "
            "needed; pass one of them, fitted."
        )
    names = _names(model, feature_names, coef.shape[1])
    header |= {
        "estimator": type(model).__name__,
        "library": _version(),
        "n_features": coef.shape[1],
        "feature_names": names,
        "target_name": target_name,
        "fingerprint": None if X is None else fingerprint(X),
        "encoding": None if encoding is None else encoding.to_json(),
    }
    arrays |= {f"coef.{part}": getattr(coef, part) for part in SPARSE}
    write_container(path, MODEL, header, arrays)


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
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    header, arrays = read_container(path, MODEL)
    with unpacking(path, MODEL):
        check_facts(header, FACTS)
        _check_names(header)
        _check_encoding(header)
        coef = _coefficients(arrays, header["n_features"])
        if header["estimator"] == MODELS:
            intercept = _of_shape(arrays, "intercept_", coef.shape[:1])
            return LinearModels(coef, intercept)
        check_facts(header, ESTIMATOR_FACTS)
        check_facts(header["settings"], SWITCHES)
        if header["sketch"] is not None:
            check_facts(header["sketch"], SKETCH_FACTS)
        loaded = ESTIMATORS[header["estimator"]](**_restored(header["settings"], arrays))
        _refill(loaded, coef, header, arrays)
        return loaded


def _version() -> str:
    try:
        return version("sketchlasso")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0+unknown"


def _described(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of an estimator, apart from its coefficients and names."""
    known = {name: getattr(model, name, None) for name in NUMBERS}
    arrays = {name: np.asarray(value) for name, value in known.items() if value is not None}
    header: dict[str, Any] = {
        "settings": {},
        "dtype": str(model.coef_.dtype),
        "single": model.coef_.ndim == 1,
        "n_iter": int(model.n_iter_),
        "standardized": bool(model.standardized_),
        "named": hasattr(model, "feature_names_in_"),
        "sketch": _sketch_facts(getattr(model, "sketch_", None)),
    }
    for name, value in model.get_params(deep=False).items():
        header["settings"][name], array = _plain(value)
        if array is not None:
            arrays[f"settings.{name}"] = array
    if hasattr(model, "calibration_"):
        header["calibration"] = model.calibration_.method
        arrays |= packed_calibration(model.calibration_)
    if hasattr(model, "classes_"):
        labels = np.asarray(model.classes_)
        header["labels_are_objects"] = labels.dtype == object
        if labels.dtype == object:
            if not all(isinstance(label, str) for label in labels):
                raise InvalidInputError(
                    f"the classes {labels[:3]!r} are objects other than text, which a file "
                    "without pickle cannot hold; fit with numbers or text as labels."
                )
            labels = labels.astype(str)
        arrays["classes_"] = labels
    return header, arrays


def _sketch_facts(sketch: Sketch | None) -> dict[str, Any] | None:
    """The facts of a sketch that a model file keeps."""
    if sketch is None:
        return None
    names = ("method", "rank", "response_rank", "radius_kind", "seed", "fingerprint")
    return {
        **{name: getattr(sketch, name) for name in names},
        "radius": float(sketch.radius),
        "scaled": sketch.column_scales is not None,
    }


def _names(model: Any, given: Sequence[str] | None, n_features: int) -> list[str] | None:
    seen = getattr(model, "feature_names_in_", None)
    if given is None:
        return None if seen is None else [str(name) for name in seen]
    names = [str(name) for name in given]
    if len(names) != n_features or (seen is not None and names != list(seen)):
        why = f"has {n_features} features" if len(names) != n_features else "was fitted with others"
        raise InvalidInputError(
            f"{len(names)} feature names were given, but the model {why}; give one name "
            "per feature in the order of the fit, or leave them out."
        )
    return names


def _plain(value: object) -> tuple[Any, NDArray[Any] | None]:
    """A parameter as JSON, and as an array where it is one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value, None
    if isinstance(value, float) and np.isfinite(value):
        return value, None
    if isinstance(value, RadiusPolicy):
        return {POLICY: [value.kind, value.factor]}, None
    if isinstance(value, list | tuple) and any(isinstance(v, str | RadiusPolicy) for v in value):
        return [_plain(part)[0] for part in value], None
    if isinstance(value, list | tuple | np.ndarray | float):
        # Sequences of arrays may be ragged, such as the folds of a splitter.
        flat = not isinstance(value, list | tuple) or not any(np.ndim(part) for part in value)
        array = np.asarray(value) if flat else np.empty(0, dtype=object)
        if array.dtype.kind in "biuf":
            return {ARRAY: array.ndim}, array
    return {LEFT_OUT: type(value).__name__}, None


def _restored(settings: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    restored = {}
    for name, value in settings.items():
        if isinstance(value, dict) and LEFT_OUT in value:
            continue
        if isinstance(value, dict) and ARRAY in value:
            array = arrays[f"settings.{name}"]
            restored[name] = array if array.ndim else array.item()
        elif isinstance(value, list):
            restored[name] = [_policy(part) for part in value]
        else:
            restored[name] = _policy(value)
    return restored


def _policy(value: object) -> Any:
    if isinstance(value, dict):
        kind, factor = value[POLICY]
        return RadiusPolicy(kind, float(factor))
    return value


def _check_names(header: dict[str, Any]) -> None:
    names, count = header["feature_names"], header["n_features"]
    if names is None:
        return
    if len(names) != count or not all(isinstance(name, str) for name in names):
        raise UnfitError(f"it has {len(names)} names for {count} features")


def _check_encoding(header: dict[str, Any]) -> None:
    """Refuse an encoding that does not fit the names; older files have none."""
    if header.get("encoding") is None:
        return
    try:
        names = Encoding.from_json(header["encoding"]).feature_names
    except InvalidInputError as problem:
        raise UnfitError("its encoding is invalid") from problem
    if list(names) != header["feature_names"]:
        raise UnfitError("its encoding has other features than its coefficients")


def _coefficients(arrays: dict[str, NDArray[Any]], n_features: int) -> Any:
    data, indices, indptr = (arrays[f"coef.{part}"] for part in SPARSE)
    check_numbers(data, "coef.data")
    rows = len(np.atleast_1d(indptr)) - 1
    if rows < 1 or n_features < 1:
        raise UnfitError(f"it has coefficients of the shape ({rows}, {n_features})")
    check_memory(8 * rows * n_features, f"a model of {n_features} features")
    return checked_csr(data, indices, indptr, (rows, n_features))


def _of_shape(arrays: dict[str, NDArray[Any]], name: str, *shapes: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of real numbers that has one of these shapes."""
    values = arrays[name]
    check_numbers(values, name, finite=name == "intercept_")
    if values.shape not in shapes:
        raise UnfitError(f"{name} has the shape {values.shape}")
    return values


def _refill(model: Any, coef: Any, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write the fitted attributes.

    Sets: coef_, intercept_, calibration_, classes_, n_features_in_, feature_names_in_, n_iter_ and
    those of NUMBERS that were stored.
    """
    single, dtype = header["single"], np.dtype(header["dtype"])
    if dtype not in (np.float32, np.float64) or (single and coef.shape[0] != 1):
        raise UnfitError(f"it has {coef.shape[0]} rows of coefficients, {dtype}")
    dense = coef.toarray().astype(dtype, copy=False)
    model.coef_ = dense[0] if single else dense
    each = () if single else (len(dense),)
    _of_shape(arrays, "intercept_", each)
    for name in ("alpha_", "radius_", "dual_gap_", "full_gap_"):
        _of_shape(arrays, name, each, ())
    for name in NUMBERS:
        if name in arrays:
            value = arrays[name]
            check_numbers(value, name, "biuf", finite=False)
            setattr(model, name, value if value.ndim else value[()])
    model.n_iter_ = header["n_iter"]
    model.n_features_in_ = header["n_features"]
    # Files of version 0.1.0 have the parameter alone, which was True or False.
    model.standardized_ = bool(header.get("standardized", header["settings"]["standardize"]))
    model.scale_ = arrays.get("scale_")
    if header["named"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    if header.get("calibration") is not None:
        found = unpacked_calibration(header["calibration"], arrays, *coef.shape)
        model.calibration_ = found
    if "classes_" in arrays:
        labels = arrays["classes_"]
        check_numbers(labels, "classes_", "biufU")
        if labels.ndim != 1 or not 1 < len(labels) == max(2, len(dense)) or len(dense) == 2:
            raise UnfitError(f"it has {labels.shape} classes for {len(dense)} rows")
        model.classes_ = labels.astype(object) if header["labels_are_objects"] else labels
    elif hasattr(type(model), "decision_function"):
        raise UnfitError("its classes are missing")
