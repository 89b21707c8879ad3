"""The paper, reproduced: every table and figure on the available data, as a report.

An experiment computes rows into a results file; its tables, pictures and sentences are made from
that file alone, so a report can be rebuilt, and every number in it traced.
"""

from reproduction.experiment import Experiment, Finding, Plan
from reproduction.runner import run_experiments
from reproduction.store import Outcome, read_outcomes
from reproduction.writing import write_report

__all__ = [
    "Experiment",
    "Finding",
    "Outcome",
    "Plan",
    "read_outcomes",
    "run_experiments",
    "write_report",
]
