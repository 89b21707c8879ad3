"""What the paper says, quoted, with where it says it.

V. Pham, L. El Ghaoui and A. Fernandez, "Robust sketching for multiple square-root LASSO
problems", arXiv 1411.0024. No figure of the paper is written anywhere else in the reports. Its
pictures are not reproduced here: what they show is quoted from its text.
"""

from __future__ import annotations

from typing import Any

PAPER: dict[str, dict[str, Any]] = {
    "figure_1": {
        "where": "section 1, figure 1",
        "claim": "Real-life text data sets are often low-rank, or can be well approximated by "
        "low-rank structures; the figure shows the top 100 singular values.",
        "values_shown": 100,
    },
    "figure_2": {
        "where": "section 4, figure 2 and theorem 1",
        "claim": "Without the robust term a sketch of rank k always has a solution with at most k "
        "non-zeros, so lambda controls no sparsity; with it lambda does.",
        "rank": 1,
    },
    "table_1": {
        "where": "section 6, table 1",
        "claim": "The data sets used in numerical experiments.",
        "sets": {
            "Gisette": {"train": 6000, "test": 1000, "features": 5000, "type": "dense"},
            "20 Newsgroups": {"train": 15935, "test": 3993, "features": 62061, "type": "sparse"},
            "RCV1.binary": {"train": 20242, "test": 677399, "features": 47236, "type": "sparse"},
            "SIAM 2007": {"train": 21519, "test": 7077, "features": 30438, "type": "sparse"},
            "Real-sim": {"train": 72309, "test": None, "features": 20958, "type": "sparse"},
            "NIPS papers": {"train": 1500, "test": None, "features": 12419, "type": "sparse"},
            "NYTimes": {"train": 300000, "test": None, "features": 102660, "type": "sparse"},
            "Random 1": {"train": 500, "test": None, "features": 100, "type": "dense"},
            "Random 21": {"train": 3000, "test": None, "features": 600, "type": "dense"},
        },
    },
    "figure_3": {
        "where": "section 6.1, figure 3",
        "claim": "On random 5n x n data the time ratio of the sketched to the full model, sketch "
        "included, falls as O(1/n).",
        "exponent": -1.0,
        "repetitions": 100,
    },
    "figure_4": {
        "where": "section 6.2, figure 4",
        "claim": "5-fold cross-validation on Gisette takes less than 40 seconds for every k from "
        "1 to 50, where the full model takes 22,082 seconds.",
        "seconds_at_most": 40.0,
        "largest_k": 50,
    },
    "table_2": {
        "where": "section 6.2, table 2",
        "claim": "5-fold cross-validation is 134 to 1310 times faster on the sketch than on the "
        "full data, with the same generic second-order solver.",
        "sets": {
            "Gisette": {"full": 22082.0, "ours": 39.0, "factor": 566.0},
            "20 Newsgroups": {"full": 17731.0, "ours": 65.0, "factor": 272.0},
            "RCV1.binary": {"full": 17776.0, "ours": 70.8, "factor": 251.0},
            "SIAM 2007": {"full": 9025.0, "ours": 67.0, "factor": 134.0},
            "Real-sim": {"full": 73764.0, "ours": 56.3, "factor": 1310.0},
        },
    },
    "leave_one_out": {
        "where": "section 6.2",
        "claim": "Leave-one-out over all rows of Gisette needs a total of 7,684 seconds, less than "
        "5-fold cross-validation of the full model.",
        "seconds": 7684.0,
        "rows": 6000,
        "cv_seconds": 39.0,
    },
    "figures_5_6": {
        "where": "section 6.3, figures 5 and 6",
        "claim": "The classification performance on the sketch is equivalent to the full model's.",
        "sets": {
            "RCV1.binary": {"full": 5547.1, "ours": 18.0, "k": 50},
            "Gisette": {"full": 991.0, "ours": 34.0, "k": 50},
        },
    },
    "tables_3_4": {
        "where": "section 6.4, tables 3 and 4",
        "claim": "Leaving a word out and regressing it on the others shows its topic in just a few "
        "seconds per query.",
        "nips": {
            "learning": {
                "seconds": 3.15,
                "words": "error action algorithm targeting weighed trained uniqueness reinforced "
                "control policies",
            },
            "statistic": {
                "seconds": 2.89,
                "words": "data distribution model error algorithm parameter trained likelihood "
                "gaussian set",
            },
            "optimization": {
                "seconds": 3.11,
                "words": "algorithm data distribution likelihood variable network mixture parame "
                "bound bayesian",
            },
            "text": {
                "seconds": 3.52,
                "words": "trained error generalization wooter classifier student validating "
                "trainable hidden hmm",
            },
            "vision": {
                "seconds": 3.15,
                "words": "object image visiting images unit recognition representation motion view "
                "field",
            },
        },
        "nytimes": {
            "health": {
                "seconds": 11.81,
                "words": "drug patience doctor cell perceiving disease tawny medica cancer care",
            },
            "technology": {
                "seconds": 11.84,
                "words": "weaving companies com computer site company wwii online sites customer",
            },
            "political": {
                "seconds": 10.95,
                "words": "campaign election presidency vortices republic tawny voted democratic "
                "presidentes leader",
            },
            "business": {
                "seconds": 11.93,
                "words": "companionship companias milling stmurray marker customary weaving "
                "analyst firing billion",
            },
            "research": {
                "seconds": 10.65,
                "words": "drug patient cell doctor percent disease program tessie medical studly",
            },
        },
    },
    "iteration_cost": {
        "where": "section 5",
        "claim": "An iteration of the barrier method costs O(k n^2) on the sketch and O(m n^2) on "
        "the full data.",
        "exponent_n": 2.0,
        "exponent_k": 1.0,
        "exponent_m": 0.0,
    },
    "safe_rule": {
        "where": "section 3",
        "claim": "Features with ||a_i|| <= lambda - epsilon can be discarded safely.",
    },
    "inverse_covariance": {
        "where": "section 1",
        "claim": "Sparse inverse covariance estimation is one of the uses that the paper names.",
    },
    "subspace_clustering": {
        "where": "section 1",
        "claim": "Robust subspace clustering is one of the uses that the paper names.",
    },
}
