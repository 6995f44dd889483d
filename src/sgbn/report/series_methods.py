"""The methods of a comparison of time series, for a paper: what was done, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sgbn.comparison import Comparison
from sgbn.comparison.intervals import gain_of_repeat
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.comparison.series_words import is_lagged, spread
from sgbn.comparison.support import joined, min_shares
from sgbn.inference.permuted_statistics import COMPONENT_T
from sgbn.inference.series_differences import TESTED_PENALTY
from sgbn.quality.motion import motion_column
from sgbn.quality.series_review import REGION_EMPTY
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series import SeriesSGBN
from sgbn.structure.series.subject_moments import FEWEST_EFFECTIVE
from sgbn.structure.smooth import effect_names

Cite = Callable[..., str]


def series_and_filter(comparison: Comparison, cite: Cite) -> str:
    """Say what the series are, and how they were filtered."""
    cohort, table = cast(SeriesCohort, comparison.cohort), comparison.tables.series
    every = "" if cohort.tr is None else f" with a repetition time of {cohort.tr:g} s"
    text = (
        f"{_left_out(comparison)} Each subject has region time series of "
        f"{spread(table['volumes'], 'volumes')}{every}; "
        f"volumes were never pooled over subjects. {_filtered(comparison)} The effective number of "
        "volumes allows for the autocorrelation that is left, by the formula of Bartlett "
        f"{cite('bartlett1935')}, which is known to err where correlations are not zero "
        f"{cite('afyouni2019')}; it was {spread(table['effective_volumes'])}."
    )
    if motion_column(cohort.covariates) is None:
        text += " Motion was not among the covariates."
    return text


def _left_out(comparison: Comparison) -> str:
    """Say by which rules subjects and regions were excluded, and how many subjects these met."""
    who, unpaired = "subjects", ""
    if comparison.cohort.pair is not None:
        who, unpaired = "sessions", ", then persons without exactly one session in each group"
    counts = [len(finding.left_out) for finding in comparison.review.findings]
    return (
        f"Excluded by rule were regions that are empty in more than {REGION_EMPTY:.0%} of the "
        f"{who}, {who} with another empty region, and {who} whose volumes are worth fewer than "
        f"{FEWEST_EFFECTIVE} independent ones{unpaired}: {sum(counts) or 'none'} of the "
        f"{'persons and ' if unpaired else ''}{who}."
    )


def _filtered(comparison: Comparison) -> str:
    """Say what was taken out of the series of a subject."""
    if is_lagged(comparison):
        return (
            "Linear effects of all regions one volume before were taken out of the series of each "
            "subject by least squares."
        )
    order = spread(comparison.tables.series["ar_order"])
    return (
        "The series of a subject were filtered by one autoregressive filter for all its regions, "
        f"of order {order}, so that relations between regions stay as they are."
    )


def series_networks(comparison: Comparison, cite: Cite) -> str:
    """Say how the networks were learned."""
    learner = _learner(comparison)
    return (
        "For each group one directed acyclic graph was learned by SeriesSGBN from the sum of the "
        "scores of its subjects, each computed from the correlations of the subject's own filtered "
        f"series, as in IMaGES {cite('ramsey2010')}: n log(residual variance) + c k log n, with n "
        "effective volumes, k parents and c = "
        f"{learner.penalty:g}, summed over the subjects. Directions were not read from lags: "
        "methods that do so were among the least accurate on simulated series "
        f"{cite('smith2011')}. Weights are standardised least-squares "
        "coefficients of each subject on that graph; those of a group are means over its subjects. "
        "For each edge we report the share of subjects whose own score supports it, and whether "
        "it stays without the tenth of the subjects that support it most."
    )


def series_confidence(comparison: Comparison, cite: Cite) -> str:
    """Say what the confidence of edges and directions rests on."""
    if not comparison.confidence:
        return ""
    halves = next(iter(comparison.confidence.values())).n_halves
    joins, points = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    kept = "Sites were balanced between halves. " if comparison.n_sites > 1 else ""
    return (
        "The confidence of an edge is the share of networks that join the two regions, learned "
        f"from {halves} half samples of the subjects of a group, in complementary pairs "
        f"{cite('shah2013')}; subjects were halved, never volumes. {kept}The direction of an edge "
        f"is called supported if at least {joins} of these networks join its two regions, and at "
        f"least {points} of those that do have this direction; only such edges are drawn as arrows."
    )


def series_tests(comparison: Comparison, cite: Cite) -> str:
    """Say how differences were tested."""
    found = comparison.tests
    if found is None:
        return ""
    cohort, level = comparison.cohort, comparison.settings.level
    held = [*effect_names(cohort), *(["sites"] * (comparison.n_sites > 1))]
    within = ["sites"] * (comparison.n_sites > 1) + ["persons"] * (cohort.pair is not None)
    fixed = f", with {joined(held)} held fixed {cite('freedman1983')}" if held else ""
    exchanged = f" within {joined(within)}" if within else ""
    statistic = "difference of the means of its weights over the subjects"
    if len(found.groups) > 2:
        statistic = f"Wald statistic of the means of its weights in the {len(found.groups)} groups"
    text = (
        "Differences were tested with the subject as the unit. One graph was learned from all "
        f"subjects without their groups, with {TESTED_PENALTY:g} times the penalty c so that edges "
        "of one group only are tested as well, and kept fixed while subjects were exchanged. Each "
        f"edge was tested by the {statistic}, with HC3 variances {cite('mackinnon1985')}, and "
        f"compared with {found.n_permutations} permutations of the subjects{exchanged}{fixed}. We "
        "report p corrected family-wise over all edges by the smallest p of each permutation "
        f"{cite('westfall1993')}, and the false discovery rate q {cite('benjamini1995')}. Each "
        "pair was tested in both directions and by its partial correlation, and the largest p "
        f"counts; differences that hold both ways in this sense with q ≤ {level:g} are called "
        "significant. Means over volumes were not compared."
    )
    if len(comparison.tables.components):
        text += (
            f" Connected sets of edges with a statistic beyond {COMPONENT_T:g} were tested by "
            f"their strength {cite('zalesky2010')}."
        )
    return text


def series_accuracy(comparison: Comparison, cite: Cite) -> str:
    """Say how the groups were told apart."""
    found = comparison.accuracy
    if found is None:
        return ""
    n_folds, repeats = int(found.folds.max()) + 1, len(found.folds)
    times = "once" if repeats == 1 else f"{repeats} times"
    text = (
        f"How well the groups can be told apart was estimated by {n_folds}-fold stratified "
        f"cross-validation over subjects, {times}. The group of a subject was predicted by "
        f"logistic regression {cite('pedregosa2011')} on its weights on a graph that was learned "
        "in the training part without the groups; effects of covariates and sites on the weights, "
        "and the strength of the regression, were learned inside the training part"
    )
    others = [name for name in found.probabilities if name not in (found.ours, COVARIATES_ALONE)]
    if others:
        text += f". Beside it, by the same regression, {joined(others)} {cite('abraham2014')}"
    if COVARIATES_ALONE in found.probabilities:
        text += ", and the covariates alone"
    text += (
        f". Intervals ({1 - comparison.settings.level:.0%}) allow for the overlap of training "
        f"parts {cite('nadeau2003')}; one more repeat is expected to narrow them by "
        f"{gain_of_repeat(n_folds, repeats):.0%}."
    )
    if len(found.permuted):
        text += (
            f" Its accuracy was tested by {len(found.permuted)} exchanges of the labels, each "
            "cross-validated anew."
        )
    return text


def _learner(comparison: Comparison) -> SeriesSGBN:
    return cast(SeriesSGBN, next(iter(comparison.learners.values())))
