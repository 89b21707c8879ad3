"""Many sparse regressions on one data set: sketch once, solve every instance in k dimensions."""

# First, as all that follows takes time to load.
from sketchlasso import startup as startup  # isort: skip

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sketchlasso.cluster import cluster
    from sketchlasso.data import BlockMatrix, fingerprint
    from sketchlasso.errors import (
        ClusterLostError,
        DeviceWarning,
        DuplicateColumnWarning,
        EmptyGridWarning,
        EmptyModelWarning,
        FewTreatedWarning,
        GridEdgeWarning,
        InaccurateWarning,
        InvalidInputError,
        MissingExtraError,
        ScaleWarning,
        SketchlassoError,
        StoredFileError,
        UnknownWordError,
    )
    from sketchlasso.estimators import (
        SketchTransformer,
        SqrtLasso,
        SqrtLassoClassifier,
        SqrtLassoClassifierCV,
        SqrtLassoCV,
        automatic_method,
        convert_alpha,
        load_model,
        pivotal_alpha,
        save_model,
    )
    from sketchlasso.files import (
        Encoding,
        Shards,
        Table,
        fetch_dataset,
        read_shards,
        read_table,
        write_table,
    )
    from sketchlasso.graphs import Graph, read_graph
    from sketchlasso.inference import (
        Desparsified,
        ErrorControl,
        Neighbourhoods,
        Nodewise,
        SparsePrecision,
        SparseSubspaceClustering,
        StabilitySelection,
        TreatmentEffects,
        desparsified,
        error_control,
        neighbourhoods,
        nodewise,
        treatment_effect,
    )
    from sketchlasso.instances import (
        ProblemSet,
        RowSets,
        bootstrap_rows,
        build_problems,
        complementary_pairs,
        feature_problems,
        leave_one_out_rows,
        leave_p_out_rows,
        splitter_rows,
        weighted_rows,
    )
    from sketchlasso.interfaces import plots as plots
    from sketchlasso.problem import (
        Batch,
        alpha_max,
        optimality_residual,
        primal_value,
        sparsify,
        worst_case_perturbation,
    )
    from sketchlasso.results import (
        Comparison,
        CrossValidation,
        FullCertificate,
        LeaveOneOut,
        LinearModels,
        Path,
        RadiusPolicy,
        certify,
        compare,
        cross_validate,
        leave_one_out,
        linear_models,
        score,
        sqrt_lasso_path,
        tidy_table,
    )
    from sketchlasso.sketch import Sketch, extend_sketch, load_sketch, sketch, sketch_from_factors
    from sketchlasso.solve import (
        Iterates,
        Progress,
        Screening,
        Settings,
        Sized,
        Solution,
        Status,
        solve,
        solve_for_size,
    )
    from sketchlasso.storage import StoredInfo, stored_info
    from sketchlasso.topics import (
        ComparedImages,
        Corpus,
        DocumentMatch,
        Topic,
        TopicImage,
        TopicImager,
        Topics,
        WordGraph,
        WordImages,
        compare_images,
        corpus_from_matrix,
        embedded_corpus,
        find_topics,
        load_images,
        load_topics,
        read_corpus,
        word_graph,
    )

    __version__: str

# Rooms that hold the public names, each after those it needs.
_ROOMS = (
    "errors",
    "storage",
    "cluster",
    "data",
    "files",
    "problem",
    "sketch",
    "solve",
    "instances",
    "results",
    "graphs",
    "estimators",
    "inference",
    "topics",
)

__all__ = [
    "Batch",
    "BlockMatrix",
    "ClusterLostError",
    "ComparedImages",
    "Comparison",
    "Corpus",
    "CrossValidation",
    "Desparsified",
    "DeviceWarning",
    "DocumentMatch",
    "DuplicateColumnWarning",
    "EmptyGridWarning",
    "EmptyModelWarning",
    "Encoding",
    "ErrorControl",
    "FewTreatedWarning",
    "FullCertificate",
    "Graph",
    "GridEdgeWarning",
    "InaccurateWarning",
    "InvalidInputError",
    "Iterates",
    "LeaveOneOut",
    "LinearModels",
    "MissingExtraError",
    "Neighbourhoods",
    "Nodewise",
    "Path",
    "ProblemSet",
    "Progress",
    "RadiusPolicy",
    "RowSets",
    "ScaleWarning",
    "Screening",
    "Settings",
    "Shards",
    "Sized",
    "Sketch",
    "SketchTransformer",
    "SketchlassoError",
    "Solution",
    "SparsePrecision",
    "SparseSubspaceClustering",
    "SqrtLasso",
    "SqrtLassoCV",
    "SqrtLassoClassifier",
    "SqrtLassoClassifierCV",
    "StabilitySelection",
    "Status",
    "StoredFileError",
    "StoredInfo",
    "Table",
    "Topic",
    "TopicImage",
    "TopicImager",
    "Topics",
    "TreatmentEffects",
    "UnknownWordError",
    "WordGraph",
    "WordImages",
    "__version__",
    "alpha_max",
    "automatic_method",
    "bootstrap_rows",
    "build_problems",
    "certify",
    "cluster",
    "compare",
    "compare_images",
    "complementary_pairs",
    "convert_alpha",
    "corpus_from_matrix",
    "cross_validate",
    "desparsified",
    "embedded_corpus",
    "error_control",
    "extend_sketch",
    "feature_problems",
    "fetch_dataset",
    "find_topics",
    "fingerprint",
    "leave_one_out",
    "leave_one_out_rows",
    "leave_p_out_rows",
    "linear_models",
    "load_images",
    "load_model",
    "load_sketch",
    "load_topics",
    "neighbourhoods",
    "nodewise",
    "optimality_residual",
    "pivotal_alpha",
    "plots",
    "primal_value",
    "read_corpus",
    "read_graph",
    "read_shards",
    "read_table",
    "save_model",
    "score",
    "sketch",
    "sketch_from_factors",
    "solve",
    "solve_for_size",
    "sparsify",
    "splitter_rows",
    "sqrt_lasso_path",
    "stored_info",
    "tidy_table",
    "treatment_effect",
    "weighted_rows",
    "word_graph",
    "worst_case_perturbation",
    "write_table",
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
    for room in _ROOMS:
        module = import_module(f"sketchlasso.{room}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"no room of {__name__!r} has the name {name!r}")  # pragma: no cover


class _Package(ModuleType):
    """Keeps the functions `cluster`, `sketch` and `solve` apart from the rooms of that name.

    Python makes a room an attribute of the package when it is first imported; the public name is
    the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in __all__ or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
