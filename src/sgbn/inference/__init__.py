"""Statistics about networks: their confidence, differences, effects and deviating subjects.

In: a `Cohort`, or rows with the groups and covariates of subjects. Out: tables of numbers with
their intervals and p. Start reading at ``differences.py``. This list shows which function answers
which question:

- Which edges of a network are sure? `edge_confidence`. `selection_bound` limits how many of the
  frequent edges are there by chance. `weight_intervals` gives intervals for a fixed graph's
  weights.
- Which edges, hubs and lobes differ between groups, and do the networks differ at all?
  `edge_differences` for tables, `series_differences` for time series. `kinds_of_change` describes
  the change of a weight in one word.
- Are the differences found again in other subjects? `replicate_differences`.
- Which regions differ in their means? `regional_differences`.
- What are the networks of the groups? `JointSGBN` learns one network per group. All of them follow
  the same order of the regions.
- How strongly does a region act on another, and does the effect differ between groups?
  `total_effects`, `effect_difference`. `possible_graphs` shows which directions the data leave
  open.
- What if a region no longer varied? `lesion`.
- Which subjects deviate from a reference group, and where? `NormativeDeviation`.
- Is a network the right model, or do hidden factors predict unseen subjects better?
  `compare_models`. `edges_beside_factors` shows which edges stay when factors are taken out.
  `residual_checks` tests whether residuals are Gaussian and relations are straight lines.
- What could a study find, and how many subjects does it need? `power`, `sample_size`.
"""

from sgbn.core.graph import KINDS_OF_CHANGE, kinds_of_change
from sgbn.inference.confidence import edge_confidence
from sgbn.inference.deviation import Deviations, NormativeDeviation
from sgbn.inference.difference_tables import Differences
from sgbn.inference.differences import edge_differences
from sgbn.inference.effects import (
    Effect,
    EffectDifference,
    Lesion,
    effect_difference,
    lesion,
    possible_graphs,
    total_effects,
)
from sgbn.inference.intervals import ResidualChecks, residual_checks, weight_intervals
from sgbn.inference.joint import JointSGBN
from sgbn.inference.models import ModelComparison, compare_models, edges_beside_factors
from sgbn.inference.power import Power, SampleSize, power, sample_size
from sgbn.inference.regional import regional_differences
from sgbn.inference.replication import Replication, replicate_differences, replication_rows
from sgbn.inference.series_differences import series_differences
from sgbn.learn.confidence import EdgeConfidence, selection_bound

__all__ = [
    "KINDS_OF_CHANGE",
    "Deviations",
    "Differences",
    "EdgeConfidence",
    "Effect",
    "EffectDifference",
    "JointSGBN",
    "Lesion",
    "ModelComparison",
    "NormativeDeviation",
    "Power",
    "Replication",
    "ResidualChecks",
    "SampleSize",
    "compare_models",
    "edge_confidence",
    "edge_differences",
    "edges_beside_factors",
    "effect_difference",
    "kinds_of_change",
    "lesion",
    "possible_graphs",
    "power",
    "regional_differences",
    "replicate_differences",
    "replication_rows",
    "residual_checks",
    "sample_size",
    "selection_bound",
    "series_differences",
    "total_effects",
    "weight_intervals",
]
