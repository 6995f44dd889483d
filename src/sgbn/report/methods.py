"""The methods of a comparison as a paragraph for a paper: what was done, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sgbn.cohort import Cohort
from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import OURS, REFINED
from sgbn.comparison.intervals import gain_of_repeat
from sgbn.comparison.left_out_words import left_out_counts, visits_words
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.comparison.support import joined, min_shares
from sgbn.inference.permuted_statistics import COMPONENT_T
from sgbn.quality.reviews import REGION_MISSING, SUBJECT_MISSING
from sgbn.report.checks_section import checks_methods
from sgbn.report.learner_words import learned_by, weights_are
from sgbn.report.preparation_words import covariate_words, site_words
from sgbn.report.references import REFERENCES, Reference, software
from sgbn.report.series_methods import (
    series_accuracy,
    series_and_filter,
    series_confidence,
    series_networks,
    series_tests,
)
from sgbn.runs import versions
from sgbn.search.problem import default_gamma
from sgbn.structure import SGBN
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble import SGBNEnsemble
from sgbn.structure.robust import OUTLIER_SD
from sgbn.structure.samples import takes_effects_out
from sgbn.structure.smooth import effect_names

PROGRAM = "sgbn"  # key of the reference to this package
MOVED_BY = {
    "KL-SGBN": "KL-SGBN (the radius-margin bound of a support vector machine on Fisher vectors)",
    "MM-SGBN": "MM-SGBN (the margin between the log-likelihoods of the groups)",
    "CL-SGBN": "CL-SGBN (the conditional likelihood of the groups; not part of the cited paper)",
}


Part = Callable[[Comparison, Any], str]


class Methods(NamedTuple):
    """Paragraphs with numbered citations, and what they cite."""

    paragraphs: list[str]
    references: list[Reference]

    @property
    def text(self) -> str:
        """All as plain text."""
        numbered = [f"[{k}] {one.text}" for k, one in enumerate(self.references, start=1)]
        return "\n\n".join(self.paragraphs) + "\n\nReferences\n" + "\n".join(numbered) + "\n"

    @property
    def bibtex(self) -> str:
        """All references, this package among them, for BibTeX."""
        return "\n\n".join(one.bibtex for one in self.references) + "\n"


class Citations:
    """Numbers works in the order in which they are cited first."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, *keys: str) -> str:
        """Give the number of each work, in brackets."""
        self.keys += [key for key in keys if key not in self.keys]
        return "[" + ", ".join(str(number) for number in self._numbers(keys)) + "]"

    def _numbers(self, keys: tuple[str, ...]) -> list[int]:
        return sorted(self.keys.index(key) + 1 for key in keys)


def describe_methods(comparison: Comparison) -> Methods:
    """Describe what was done."""
    cite = Citations()
    parts = _of_series() if comparison.of_series else _of_tables()
    paragraphs = [text for part in parts if (text := part(comparison, cite).strip())]
    works = REFERENCES | {PROGRAM: software(versions()["sgbn"])}
    return Methods(paragraphs, [works[key] for key in cite.keys])


def _of_tables() -> tuple[Part, ...]:
    return (
        *(_preparation, _networks, _models, _confidence, _differences, checks_methods),
        *(_refinements, _accuracy, _deviations, _programs),
    )


def _of_series() -> tuple[Part, ...]:
    return (
        *(_subjects, series_and_filter, series_networks, series_confidence, series_tests),
        *(_further_tests, checks_methods, series_accuracy, _programs),
    )


def prepared_in_folds(comparison: Comparison) -> str:
    """Say what was done to the regions in each training part of the cross-validation."""
    if comparison.of_series:
        effects = [*effect_names(comparison.cohort), *(["sites"] * (comparison.n_sites > 1))]
        taken = f", and effects of {joined(effects)} taken out of the weights" if effects else ""
        return f"in each training part by itself, a graph was learned without the groups{taken}"
    cohort, covariates = comparison.cohort, effect_names(comparison.cohort)
    steps = []
    if np.isnan(cohort.values).any():
        steps.append("missing cells were filled in")
    if comparison.n_sites > 1:
        steps.append("sites were harmonised by ComBat without regard to the groups")
    if covariates:
        steps.append(
            f"effects of {joined(covariates)} (over all its subjects, not within the groups) were "
            "regressed out"
        )
    if comparison.settings.select:
        steps.append(f"the {comparison.settings.select} regions with the largest F were chosen")
    steps.append("regions were standardised")
    return (
        f"in each training part by itself, {joined(steps)}; subjects left out were treated with "
        "its estimates"
    )


def _subjects(comparison: Comparison, cite: Citations) -> str:  # noqa: ARG001
    """Say who was compared, and in which regions."""
    cohort = comparison.cohort
    sizes = joined([f"{group} (n = {cohort.subjects[group]})" for group in comparison.groups])
    text = f"We compared {sizes} in {len(cohort.regions)} regions"
    text += f" of {cohort.atlas.title}" if cohort.atlas is not None else ""
    if cohort.pair is not None:
        text += f", which are paired visits of {len(np.unique(cohort.pair))} persons"
    elif cohort.person is not None:
        text += f", with {len(cohort)} rows of these {len(np.unique(cohort.person))} persons"
    steps = [f"{text}; {comparison.reference} is the reference.", *_together(comparison)]
    return " ".join(steps)


def _preparation(comparison: Comparison, cite: Citations) -> str:
    cohort = comparison.cohort
    steps = [_subjects(comparison, cite), _left_out(comparison)]
    n_sites, missing = comparison.n_sites, np.isnan(cohort.values).mean()
    if missing:
        level = "of the region at the same site" if n_sites > 1 else "of the region"
        steps.append(f"Missing cells ({missing:.2%}) were filled in with the median {level}.")
    return " ".join([*steps, *site_words(comparison, cite), *covariate_words(cohort, cite)])


def _together(comparison: Comparison) -> list[str]:
    """Say which rows were never parted, if any, by the steps that were done."""
    given = {"person": comparison.cohort.person, "family": comparison.cohort.block}
    labels = [name for name, one in given.items() if one is not None]
    steps = {
        "exchanged": comparison.tests,
        "halved": comparison.settings.n_pairs,
        "cross-validated": comparison.accuracy,
    }
    done = [name for name, found in steps.items() if found is not None and found != 0]
    if not labels or not done:
        return []
    return [f"Rows of one {' and of one '.join(labels)} were {joined(done)} together."]


def _left_out(comparison: Comparison) -> str:
    who = "subjects"
    pairs = ""
    if comparison.cohort.pair is not None:
        who, pairs = "visits", "then persons without exactly one visit in each group, "
    return (
        f"Excluded by rule were {who} that lack more than {SUBJECT_MISSING:.0%} of their regions, "
        f"{pairs}regions that more than {REGION_MISSING:.0%} of the {who} of a group lack, and "
        "regions that do not vary in a group."
    )


def _networks(comparison: Comparison, cite: Citations) -> str:
    learners = list(comparison.learners.values())
    return (
        "For each group a sparse Gaussian Bayesian network was learned "
        f"{learned_by(learners, cite)}. Weights are {weights_are(learners[0])}, also reported per "
        f"standard deviation.{_input_of_networks(comparison)}"
    )


def _models(comparison: Comparison, cite: Citations) -> str:
    if not comparison.models:
        return ""
    folds = next(iter(comparison.models.values())).n_folds
    return (
        "Whether a network is the right picture was judged by the likelihood of unseen subjects in "
        f"{folds} folds, beside maximum-likelihood factor analysis {cite('joreskog1967')} with a "
        "number of factors that was chosen inside each training part, a graphical lasso "
        f"{cite('friedman2008')} and independent regions. The network was learned anew in each "
        f"training part, by {type(comparison.searcher).__name__}. Effects of sites and covariates "
        "and the scale of the regions were those of the training part; standard errors allow for "
        f"the overlap of training parts {cite('nadeau2003')}. Each weight was also refitted beside "
        "the leading factors."
    )


def _input_of_networks(comparison: Comparison) -> str:
    """Say which subjects networks were learned without, and whether from ranks."""
    settings, text = comparison.settings, ""
    steps = ["networks"] * (settings.outliers == "trim")
    steps += ["tests of differences"] * (comparison.tests is not None)
    if settings.outliers != "keep" and steps:
        text += (
            f" Subjects more than {OUTLIER_SD:g} robust standard deviations from the others of "
            "their group (Mahalanobis distance with medians and clipped correlations) were left "
            f"out of {joined(steps)}: {left_out_counts(comparison, comparison.far_out)}. "
            f"{visits_words(comparison)}"
        ).rstrip()
    if settings.transform == "normal-scores":
        text += (
            " Graphs were learned from the normal scores of the regions, weights from the values."
        )
    return text


def _learner(comparison: Comparison) -> LearnedNetwork:
    return next(iter(comparison.learners.values()))


def _confidence(comparison: Comparison, cite: Citations) -> str:
    if not comparison.confidence:
        return ""
    learner, halves = _learner(comparison), next(iter(comparison.confidence.values())).n_halves
    joins, points = (f"{100 * share:.3g}%" for share in min_shares(comparison))
    supported = (
        f"The direction of an edge is called supported if at least {joins} of these networks join "
        f"its two regions, and at least {points} of those that do have this direction; only such "
        "edges are drawn as arrows."
    )
    if isinstance(learner, SGBNEnsemble):
        return (
            "The confidence of an edge is the share of networks that join the two regions, drawn "
            f"from a posterior of each of {halves} half samples of a group, in complementary pairs "
            f"{cite('shah2013')}. {_taken_out(comparison)}{supported}"
        )
    fast = ", but without the random kicks of the search (n_kicks = 0)"
    return (
        f"The confidence of an edge is the share of {halves} half samples of a group, in "
        f"complementary pairs {cite('shah2013')}, whose network joins the two regions. The "
        "networks of halves were learned in the same way as those of the groups"
        f"{fast if isinstance(learner, SGBN) else ''}. {supported}"
    )


def _taken_out(comparison: Comparison) -> str:
    """Say what was done to each half by itself."""
    sites = ["sites"] * (comparison.n_sites > 1)
    effects = [*effect_names(comparison.cohort), *sites]
    text = "Sites were balanced between halves. " if sites else ""
    if takes_effects_out(comparison.prepared):
        return f"Effects of {joined(effects)} were taken out of each half by itself. {text}"
    return text


def _differences(comparison: Comparison, cite: Citations) -> str:
    found = comparison.tests
    if found is None:
        return ""
    cohort, level = comparison.cohort, comparison.settings.level
    sites = ["sites"] * (comparison.n_sites > 1)
    held = ["group means", *effect_names(cohort), *sites]
    within = [*sites, *(["persons"] * (cohort.pair is not None))]
    exchanged = f", within {joined(within)}" if within else ""
    exchanged += _exchanged_whole(cohort, cite)
    statistic = "difference of its weight over its standard error"
    if len(found.groups) > 2:
        statistic = f"Wald statistic of its weights in the {len(found.groups)} groups"
    text = (
        "Differences of the edges were tested given an order of the regions that SGBN "
        f"{cite('chen2008')} with gamma = {_gamma_of_tests(comparison):.3g} learned from the "
        "pooled residuals; parents were those of the pooled and of each group's data, at most "
        "one per five subjects of the smallest group, chosen anew in every permutation. Each edge "
        f"was tested by the {statistic}, with HC3 variances {cite('mackinnon1985')}, and compared "
        f"with {found.n_permutations} permutations of whole rows of residuals{exchanged}, with "
        f"{joined(held)} held fixed {cite('freedman1983')}.{_exactness(comparison)} Edges that the "
        "pooled data chose, and those that only a group chose, were compared with their own kind. "
        "We report p corrected family-wise over all edges by the smallest p of each permutation "
        f"{cite('westfall1993')}, and the false discovery rate q {cite('benjamini1995')}. Each "
        "pair was tested in both directions and by its partial correlation, each given the parents "
        "of either region, and the largest p counts; differences that hold both ways in this sense "
        f"with q ≤ {level:g} are called "
        "significant. Those with a small q one way only are reported apart: a change of variance "
        "can cause them."
        f"{_further_tests(comparison, cite)}"
    )
    if len(comparison.tables.components):
        text += (
            f" Connected sets of edges with a statistic beyond {COMPONENT_T:g} were tested by "
            f"their strength {cite('zalesky2010')}."
        )
    return text


def _exactness(comparison: Comparison) -> str:
    """Say that permutations are exact, where nothing but the groups' means is held fixed."""
    if comparison.cohort.covariates or comparison.n_sites > 1:
        return ""
    found = comparison.tests
    trimmed = found is not None and any(found.left_out.values())
    rows = " and the subjects left out" if trimmed else ""
    return (
        f" They are exact, up to the estimated means{rows}, where the groups have the same "
        "distribution but for these."
    )


def _further_tests(comparison: Comparison, cite: Citations) -> str:
    """Say what was tested beside all edges."""
    found, text = comparison.tests, ""
    if found is not None and found.pairwise:
        text += f" Pairs of groups were compared in closed tests {cite('marcus1976')}."
    if found is not None and found.named is not None:
        edges = joined([f"{row['source']} to {row['target']}" for row in found.named])
        text += (
            f" Edges that we declare to have named before the data were seen ({edges}) were "
            "tested by their own permutations, corrected family-wise among themselves."
        )
    if found is not None and found.among is not None:
        names = joined(comparison.settings.among or found.among.regions)
        text += (
            f" All edges among {names}, which we declare to have named before the data were seen, "
            "were tested together by the sum of their squared statistics, and one by one, "
            "corrected among themselves."
        )
    if comparison.replication is not None:
        text += (
            " Differences were also sought in a part of the subjects and tested in those held back "
            f"({comparison.settings.replicate}), each part prepared by itself; an edge counts as "
            "confirmed if its difference has the same sign and its p"
            f"{' (one-sided)' * (len(comparison.groups) == 2)}, corrected by Holm's method, is at "
            f"most {comparison.settings.level:g}."
        )
    if comparison.settings.rows_are_subjects:
        text += " Each row was taken for another subject, whatever the checks of the rows said."
    return text


def _exchanged_whole(cohort: Cohort, cite: Citations) -> str:
    """Say which rows changed places together."""
    if cohort.pair is not None or (cohort.person is None and cohort.block is None):
        return ""
    units = ["all rows of a person"] * (cohort.person is not None)
    if cohort.block is not None:
        units += ["families of one group as a whole", "members of other families among themselves"]
    return f" ({joined(units)} {cite('winkler2015')})"


def _gamma_of_tests(comparison: Comparison) -> float:
    """Sparsity of the common order: that of the networks, or the default for all rows."""
    learner = comparison.searcher
    given = learner.gamma if isinstance(learner, SGBN) else None
    return default_gamma(len(comparison.cohort)) if given is None else float(given)


def _refinements(comparison: Comparison, cite: Citations) -> str:
    if not comparison.refinements:
        return ""
    methods = joined([MOVED_BY.get(name, name) for name in comparison.refinements])
    return (
        "To see which weights tell the groups apart, networks learned by "
        f"{type(comparison.searcher).__name__} were refined discriminatively {cite('zhou2016')} by "
        f"{methods}, with a bounded loss of fit."
    )


def _accuracy(comparison: Comparison, cite: Citations) -> str:
    found, settings = comparison.accuracy, comparison.settings
    if found is None:
        return ""
    n_folds, repeats = int(found.folds.max()) + 1, len(found.folds)
    own = (OURS, REFINED, COVARIATES_ALONE)
    others = [name for name in found.probabilities if name not in own]
    apart = ""
    if comparison.cohort.units is not None:
        whose = "a family" if comparison.cohort.block is not None else "a person"
        rows = "visits" if comparison.cohort.pair is not None else "rows"
        apart = f", the {rows} of {whose} in one fold"
    times = "once" if repeats == 1 else f"{repeats} times"
    text = (
        f"How well the groups can be told apart was estimated by {n_folds}-fold stratified "
        f"cross-validation, {times}{apart}: {prepared_in_folds(comparison)}. The group of a "
        "subject was predicted by the likelihood of one SGBN per group, with settings found inside "
        f"the training part, and beside it by {joined(others)} {cite('pedregosa2011')}"
    )
    if REFINED in found.probabilities:
        name = type(comparison.searcher).__name__
        text += f", by networks of {name} (with its fast effort) that CL-SGBN refined"
    if COVARIATES_ALONE in found.probabilities:
        alone = joined([*comparison.cohort.covariates, *(["site"] * (comparison.n_sites > 0))])
        text += f", and by a logistic regression on {alone} alone"
    text += (
        f". Intervals ({1 - settings.level:.0%}) allow for the overlap of training parts "
        f"{cite('nadeau2003')}; one more repeat is expected to narrow them by "
        f"{gain_of_repeat(n_folds, repeats):.0%}."
    )
    if len(found.permuted):
        text += (
            f" Its accuracy was tested by {len(found.permuted)} exchanges of the labels, each "
            "cross-validated anew."
        )
    return text


def _deviations(comparison: Comparison, cite: Citations) -> str:  # noqa: ARG001
    if comparison.deviations is None:
        return ""
    return (
        f"The deviation of each subject from a network of {comparison.reference} was measured by "
        f"its regions given their parents, by {type(comparison.searcher).__name__}; subjects of "
        "that group were compared with networks learned without them."
    )


def _programs(comparison: Comparison, cite: Citations) -> str:
    used = versions()
    others = joined([f"{name} {number}" for name, number in used.items() if name != "sgbn"])
    return (
        f"All was computed with sgbn {used['sgbn']} {cite(PROGRAM)} and {others}; the seed was "
        f"{comparison.settings.seed}."
    )
