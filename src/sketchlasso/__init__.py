"""Many sparse regressions on one data set: sketch once, solve every instance in k dimensions.

Estimators, verbs and results are here. The rest has rooms of its own: `sketchlasso.inference`,
`.topics`, `.io` (files and data in blocks), `.cluster`, `.engine` (for experts) and `.errors`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sketchlasso import cluster, engine, errors, graphs, inference, io, topics
    from sketchlasso.estimators import (
        ModelSummary,
        SketchTransformer,
        SqrtLasso,
        SqrtLassoClassifier,
        SqrtLassoClassifierCV,
        SqrtLassoCV,
        convert_alpha,
        load_model,
        pivotal_alpha,
        save_model,
    )
    from sketchlasso.instances import build_problems, feature_problems, splitter_rows
    from sketchlasso.interfaces import plots
    from sketchlasso.problem import alpha_max
    from sketchlasso.results import (
        CrossValidation,
        FullCertificate,
        LeaveOneOut,
        Path,
        certify,
        cross_validate,
        leave_one_out,
        sqrt_lasso_path,
    )
    from sketchlasso.sketches import Sketch, extend_sketch, load_sketch, sketch
    from sketchlasso.solvers import Progress, Settings, Solution, Status, solve

    __version__: str

# Rooms that hold the names of this level.
_ROOMS = ("problem", "sketches", "solvers", "instances", "results", "estimators")
# Modules that are loaded when they are first asked for.
_MODULES = ("cluster", "engine", "errors", "graphs", "inference", "io", "topics")

__all__ = [
    "CrossValidation",
    "FullCertificate",
    "LeaveOneOut",
    "ModelSummary",
    "Path",
    "Progress",
    "Settings",
    "Sketch",
    "SketchTransformer",
    "Solution",
    "SqrtLasso",
    "SqrtLassoCV",
    "SqrtLassoClassifier",
    "SqrtLassoClassifierCV",
    "Status",
    "__version__",
    "alpha_max",
    "build_problems",
    "certify",
    "cluster",
    "convert_alpha",
    "cross_validate",
    "engine",
    "errors",
    "extend_sketch",
    "feature_problems",
    "graphs",
    "inference",
    "io",
    "leave_one_out",
    "load_model",
    "load_sketch",
    "pivotal_alpha",
    "plots",
    "save_model",
    "sketch",
    "solve",
    "splitter_rows",
    "sqrt_lasso_path",
    "topics",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: all of them together take seconds."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = _loaded(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _loaded(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            return metadata.version("sketchlasso")
        except metadata.PackageNotFoundError:  # pragma: no cover - a tree that is not installed
            return "0+unknown"
    if name == "plots":
        return import_module("sketchlasso.interfaces.plots")
    if name in _MODULES:
        return import_module(f"sketchlasso.{name}")
    for room in _ROOMS:
        module = import_module(f"sketchlasso.{room}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"no room of {__name__!r} has the name {name!r}")  # pragma: no cover
