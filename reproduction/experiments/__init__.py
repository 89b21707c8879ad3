"""One file per experiment; the order is that of the report."""

from importlib import import_module

from reproduction.experiment import Experiment

NAMES = """
figure_1 figure_2 table_1 figure_3 figure_4 table_2 leave_one_out
figures_5_6 tables_3_4 iteration_cost safe_rule inverse_covariance subspace_clustering
"""
EXPERIMENTS = tuple(Experiment.of(import_module(f"{__name__}.{name}")) for name in NAMES.split())
