"""Inter-IAMBnPC: a variant of IAMBnPC that shrinks the blanket after each step of growth."""

from __future__ import annotations

from sgbn.structure.baselines.iamb_npc import IAMBnPC
from sgbn.structure.baselines.inter_iamb import InterIAMB


class InterIAMBnPC(IAMBnPC, InterIAMB):
    """A network from interleaved IAMB with blankets that shrink by PC (inter-IAMBnPC).

    Blankets grow as in `InterIAMB` and shrink as in `IAMBnPC`. We assume that this is the IAMB3 of
    Exp-II, which names its variants of IAMB only by numbers.

    Parameters
    ----------
    significance : float, default=0.05
        As in `IAMB`.

    Attributes
    ----------
    coef_, coef_std_, intercept_, noise_variance_, order_, network_, pdag_, blankets_, consistent_
        As in `IAMB`.
    """
