"""Functions that draw figures. Each draws on given axes or a given figure, and returns the axes."""

from sgbn.write.draw.accuracy import plot_accuracy, plot_roc, plot_sparsity
from sgbn.write.draw.brain import plot_glass_brain
from sgbn.write.draw.circle import plot_circle
from sgbn.write.draw.differences import plot_changes, plot_forest, plot_permutations
from sgbn.write.draw.matrices import plot_matrix, plot_recovery
from sgbn.write.draw.surface import plot_surface

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
