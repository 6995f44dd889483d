"""What a learner with half samples says about the edges of its network."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble.confidence import EdgeConfidence, drawn_graph
from sgbn.types import Array, Mask


class ConfidentNetwork(LearnedNetwork):
    """Base of learners with half samples; without them, `confidence_` is None."""

    confidence_: EdgeConfidence | None
    min_adjacency: float
    min_direction: float

    @property
    def adjacency_(self) -> Array:
        """Share of the half samples' networks that join i and j; 0 without half samples."""
        return self._shares("adjacency_")

    @property
    def arrow_(self) -> Array:
        """Share of the half samples' networks with i -> j; 0 without half samples."""
        return self._shares("arrow_")

    def _shares(self, name: str) -> Array:
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape)
        return getattr(self.confidence_, name)

    @property
    def supported_(self) -> Mask:
        """Edges of `network_` whose direction half samples support."""
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape, bool)
        return self.confidence_.supported(self.coef_, self.min_adjacency, self.min_direction)

    @property
    def drawn_graph_(self) -> Mask:
        """Supported edges as arrows, the others of `network_` as lines (set both ways)."""
        return drawn_graph(self.coef_, self.supported_)
