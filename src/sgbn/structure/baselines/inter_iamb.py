"""Inter-IAMB: a variant of IAMB that shrinks the blanket after each step of growth."""

from __future__ import annotations

from sgbn.structure.baselines.iamb import IAMB, strongest
from sgbn.structure.baselines.partial_correlation import IndependenceTest


class InterIAMB(IAMB):
    """A network from Markov blankets by interleaved incremental association (inter-IAMB).

    It differs from `IAMB` in one point: the blanket shrinks after each added variable, which keeps
    it small. Blankets and graph are the same as from ``inter.iamb`` of bnlearn with
    ``test="zf"``. We assume that this is the IAMB1 of Exp-II, which names its variants of IAMB only
    by numbers.

    Parameters
    ----------
    significance : float, default=0.05
        As in `IAMB`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.
    """

    def _blanket(self, test: IndependenceTest, target: int) -> list[int]:
        """Return the blanket of the target, which shrinks after each added variable."""
        blanket: list[int] = []
        seen: set[frozenset[int]] = set()
        # A blanket that was there before ends the loop. This happens if no variable is added, and
        # also if variables are added and removed again without end.
        while frozenset(blanket) not in seen:
            seen.add(frozenset(blanket))
            added = strongest(test, target, blanket)
            if added is not None:
                blanket = self._shrink(test, target, [*blanket, added])
        return blanket
