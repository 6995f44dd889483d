"""Functions that draw figures. Each draws on given axes or a given figure, and returns the axes."""

from sgbn.viz.accuracy import plot_accuracy, plot_sparsity
from sgbn.viz.changes import plot_changes
from sgbn.viz.circle import plot_circle
from sgbn.viz.forest import plot_forest
from sgbn.viz.glass_brain import plot_glass_brain
from sgbn.viz.matrices import plot_matrix, plot_recovery
from sgbn.viz.permutations import plot_permutations
from sgbn.viz.roc import plot_roc
from sgbn.viz.surface import plot_surface

__all__ = [
    "plot_accuracy",
    "plot_changes",
    "plot_circle",
    "plot_forest",
    "plot_glass_brain",
    "plot_matrix",
    "plot_permutations",
    "plot_recovery",
    "plot_roc",
    "plot_sparsity",
    "plot_surface",
]
