"""Pictures: each function draws on axes and returns them."""

from sgbn.viz.matrices import plot_matrix, plot_recovery

__all__ = ["plot_matrix", "plot_recovery"]
