"""Many sparse regressions on one data set: sketch once, solve every instance in k dimensions."""

# First, as all that follows takes seconds to load.
from sketchlasso import startup as startup  # isort: skip

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from sketchlasso.cluster import cluster
from sketchlasso.data import BlockMatrix, fingerprint
from sketchlasso.errors import (
    ClusterLostError,
    DeviceWarning,
    DuplicateColumnWarning,
    EmptyGridWarning,
    EmptyModelWarning,
    GridEdgeWarning,
    InaccurateWarning,
    InvalidInputError,
    MissingExtraError,
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
from sketchlasso.files import Shards, Table, fetch_dataset, read_shards, read_table, write_table
from sketchlasso.inference import ErrorControl, StabilitySelection, error_control
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
    TopicImage,
    TopicImager,
    WordGraph,
    WordImages,
    compare_images,
    corpus_from_matrix,
    embedded_corpus,
    load_images,
    load_topics,
    read_corpus,
    word_graph,
)

if TYPE_CHECKING:
    from sketchlasso.interfaces import plots as plots

try:
    __version__ = version("sketchlasso")
except PackageNotFoundError:  # pragma: no cover - a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "Batch",
    "BlockMatrix",
    "ClusterLostError",
    "ComparedImages",
    "Comparison",
    "Corpus",
    "CrossValidation",
    "DeviceWarning",
    "DocumentMatch",
    "DuplicateColumnWarning",
    "EmptyGridWarning",
    "EmptyModelWarning",
    "ErrorControl",
    "FullCertificate",
    "GridEdgeWarning",
    "InaccurateWarning",
    "InvalidInputError",
    "Iterates",
    "LeaveOneOut",
    "LinearModels",
    "MissingExtraError",
    "Path",
    "ProblemSet",
    "Progress",
    "RadiusPolicy",
    "RowSets",
    "Screening",
    "Settings",
    "Shards",
    "Sized",
    "Sketch",
    "SketchTransformer",
    "SketchlassoError",
    "Solution",
    "SqrtLasso",
    "SqrtLassoCV",
    "SqrtLassoClassifier",
    "SqrtLassoClassifierCV",
    "StabilitySelection",
    "Status",
    "StoredFileError",
    "StoredInfo",
    "Table",
    "TopicImage",
    "TopicImager",
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
    "embedded_corpus",
    "error_control",
    "extend_sketch",
    "feature_problems",
    "fetch_dataset",
    "fingerprint",
    "leave_one_out",
    "leave_one_out_rows",
    "leave_p_out_rows",
    "linear_models",
    "load_images",
    "load_model",
    "load_sketch",
    "load_topics",
    "optimality_residual",
    "pivotal_alpha",
    "plots",
    "primal_value",
    "read_corpus",
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
    "weighted_rows",
    "word_graph",
    "worst_case_perturbation",
    "write_table",
]


def __getattr__(name: str) -> Any:
    # Plots stand above the names of this module, so they are loaded when first asked for.
    if name == "plots":
        return import_module("sketchlasso.interfaces.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
