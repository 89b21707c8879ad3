"""One file per experiment; the order is that of the report."""

from reproduction.experiment import Experiment
from reproduction.experiments import (
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figures_5_6,
    inverse_covariance,
    iteration_cost,
    leave_one_out,
    safe_rule,
    subspace_clustering,
    table_1,
    table_2,
    tables_3_4,
)

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_1.EXPERIMENT,
    figure_2.EXPERIMENT,
    table_1.EXPERIMENT,
    figure_3.EXPERIMENT,
    figure_4.EXPERIMENT,
    table_2.EXPERIMENT,
    leave_one_out.EXPERIMENT,
    figures_5_6.EXPERIMENT,
    tables_3_4.EXPERIMENT,
    iteration_cost.EXPERIMENT,
    safe_rule.EXPERIMENT,
    inverse_covariance.EXPERIMENT,
    subspace_clustering.EXPERIMENT,
)
