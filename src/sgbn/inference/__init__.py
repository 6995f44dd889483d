"""How sure a network is, what differs between groups, what it implies, and who deviates."""

from sgbn.inference.confidence import EdgeConfidence, edge_confidence, selection_bound
from sgbn.inference.deviation import Deviations, NormativeDeviation
from sgbn.inference.differences import Differences, edge_differences
from sgbn.inference.effects import Effect, EffectDifference, effect_difference, total_effects
from sgbn.inference.joint import JointSGBN
from sgbn.inference.lesion import Lesion, lesion
from sgbn.inference.power import Power, SampleSize, power, sample_size
from sgbn.inference.resampling import weight_intervals

__all__ = [
    "Deviations",
    "Differences",
    "EdgeConfidence",
    "Effect",
    "EffectDifference",
    "JointSGBN",
    "Lesion",
    "NormativeDeviation",
    "Power",
    "SampleSize",
    "edge_confidence",
    "edge_differences",
    "effect_difference",
    "lesion",
    "power",
    "sample_size",
    "selection_bound",
    "total_effects",
    "weight_intervals",
]
