"""Many networks of one sample: the network that they agree on, and how sure its edges are."""

from sgbn.structure.ensemble.confidence import (
    Agreement,
    EdgeConfidence,
    selection_bound,
    supported_of,
)
from sgbn.structure.ensemble.sgbn_ensemble import SGBNEnsemble

__all__ = ["Agreement", "EdgeConfidence", "SGBNEnsemble", "selection_bound", "supported_of"]
