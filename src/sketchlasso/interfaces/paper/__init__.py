"""The paper, reproduced: every table and figure on the data at hand, as a report.

An experiment computes rows into a results file; its tables, pictures and sentences are made from
that file alone, so a report can be rebuilt, and every number in it traced. Needs the extra `paper`.
"""

from sketchlasso.interfaces.paper.experiment import Experiment, Finding, Plan
from sketchlasso.interfaces.paper.runner import run_experiments
from sketchlasso.interfaces.paper.store import Outcome, read_outcomes
from sketchlasso.interfaces.paper.writing import write_report

__all__ = [
    "Experiment",
    "Finding",
    "Outcome",
    "Plan",
    "read_outcomes",
    "run_experiments",
    "write_report",
]
