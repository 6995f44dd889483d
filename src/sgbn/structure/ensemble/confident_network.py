"""The attributes of a fitted learner that come from half samples."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sgbn.core.types import Array, Mask
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble.confidence import EdgeConfidence, drawn_graph


class ConfidentNetwork(LearnedNetwork):
    """The base class of learners with half samples.

    `confidence_` is None if there are no half samples.
    """

    confidence_: EdgeConfidence | None
    min_adjacency: float
    min_direction: float

    @property
    def adjacency_(self) -> Array:
        """Return the share of half-sample networks that join i and j; 0 without half samples."""
        return self._shares("adjacency_")

    @property
    def arrow_(self) -> Array:
        """Return the share of half-sample networks with i -> j; 0 without half samples."""
        return self._shares("arrow_")

    def _shares(self, name: str) -> Array:
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape)
        return getattr(self.confidence_, name)

    @property
    def supported_(self) -> Mask:
        """Return a mask of the edges of `network_` with a direction that half samples support."""
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape, bool)
        return self.confidence_.supported(self.coef_, self.min_adjacency, self.min_direction)

    @property
    def drawn_graph_(self) -> Mask:
        """Return `network_` as a graph to draw: supported edges are arrows, others are lines.

        An arrow i -> j is True only at ``[i, j]``, a line also at ``[j, i]``.
        """
        return drawn_graph(self.coef_, self.supported_)
