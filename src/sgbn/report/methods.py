"""The methods of a comparison as a paragraph for a paper: what was done, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgbn.comparison import Comparison, tables
from sgbn.comparison.accuracy import OURS
from sgbn.comparison.peers import COVARIATES_ALONE
from sgbn.inference.differences import COMPONENT_T
from sgbn.quality.reviews import REGION_MISSING, SUBJECT_MISSING
from sgbn.report.references import REFERENCES, Reference, software
from sgbn.runs import versions
from sgbn.structure import SGBN

MOVED_BY = {
    "KL-SGBN": "KL-SGBN (the radius-margin bound of a support vector machine on Fisher vectors)",
    "MM-SGBN": "MM-SGBN (the margin between the log-likelihoods of the groups)",
    "CL-SGBN": "CL-SGBN (the conditional likelihood of the groups; not part of the cited paper)",
}


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
        """All references, and this package, for BibTeX."""
        entries = [*self.references, software(versions()["sgbn"])]
        return "\n\n".join(one.bibtex for one in entries) + "\n"


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
    parts = (
        *(_preparation, _networks, _confidence, _differences),
        *(_refinements, _accuracy, _deviations, _programs),
    )
    paragraphs = [text for part in parts if (text := part(comparison, cite))]
    return Methods(paragraphs, [REFERENCES[key] for key in cite.keys])


def joined(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _preparation(comparison: Comparison, cite: Citations) -> str:
    cohort = comparison.cohort
    sizes = joined([f"{group} (n = {cohort.sizes[group]})" for group in comparison.groups])
    text = f"We compared {sizes} in {len(cohort.regions)} regions"
    text += f" of {cohort.atlas.title}" if cohort.atlas is not None else ""
    text += ", with paired visits" if cohort.pair is not None else ""
    steps = [f"{text}; {comparison.reference} is the reference.", _left_out()]
    missing = np.isnan(cohort.values).mean()
    if missing:
        level = "of the region at the same site" if cohort.site is not None else "of the region"
        steps.append(f"Missing cells ({missing:.2%}) were filled in with the median {level}.")
    covariates = list(cohort.covariates)
    if cohort.site is not None:
        kept = joined(
            ["the means of the groups", *([f"effects of {joined(covariates)}"] * bool(covariates))]
        )
        steps.append(
            f"Effects of {len(np.unique(cohort.site))} sites on location and scale were removed by "
            f"ComBat {cite('johnson2007', 'fortin2018')}, with {kept} held aside."
        )
    if covariates:
        steps.append(
            f"Linear effects of {joined(covariates)}, estimated within the groups, were regressed "
            "out."
        )
    return " ".join(steps)


def _left_out() -> str:
    return (
        f"Excluded by rule were subjects who lack more than {SUBJECT_MISSING:.0%} of their "
        f"regions, regions that more than {REGION_MISSING:.0%} of the subjects of a group lack, "
        "and regions that do not vary in a group."
    )


def _networks(comparison: Comparison, cite: Citations) -> str:
    learners = list(comparison.learners.values())
    name = type(learners[0]).__name__
    start = "For each group a sparse Gaussian Bayesian network was learned"
    if isinstance(learners[0], SGBN):
        gammas = sorted({f"{one.gamma_:.3g}" for one in learners})  # type: ignore[attr-defined]
        how = (
            f"by a search over orders of the regions that minimises the extended BIC "
            f"{cite('chen2008')} with gamma = {joined(gammas)}"
        )
        whose = f"; networks of this kind for groups are those of {cite('zhou2016')}"
    else:
        how, whose = f"by {name} {cite('zhou2016')}", ""
    return (
        f"{start} {how}{whose}. Weights are least-squares coefficients, also reported per standard "
        "deviation. The direction of an edge is called compelled if all networks that are "
        "equivalent in distribution share it, and reversible otherwise."
    )


def _confidence(comparison: Comparison, cite: Citations) -> str:
    if not comparison.confidence:
        return ""
    halves = next(iter(comparison.confidence.values())).n_halves
    return (
        f"The confidence of an edge is the share of {halves} half samples, in complementary pairs "
        f"{cite('shah2013')}, whose network joins the two regions."
    )


def _differences(comparison: Comparison, cite: Citations) -> str:
    found = comparison.differences
    if found is None:
        return ""
    cohort, level = comparison.cohort, comparison.settings.level
    held = ["group means", *cohort.covariates, *(["sites"] * (cohort.site is not None))]
    within = [*(["sites"] * (cohort.site is not None)), *(["persons"] * (cohort.pair is not None))]
    exchanged = f", within {joined(within)}" if within else ""
    statistic = "studentised difference"
    if len(found.groups) > 2:
        statistic = f"weighted sum of squared deviations of the {len(found.groups)} groups"
    text = (
        "Differences of the edges were tested given an order of the regions learned from the "
        "pooled residuals; parents were those of the pooled and of each group's data, "
        f"chosen anew in every permutation. Each edge was tested by the {statistic} of its weight, "
        "with a variance a group, and compared with "
        f"{found.n_permutations} permutations of whole rows of residuals{exchanged}, with "
        f"{joined(held)} held fixed {cite('freedman1983')}. We report p corrected family-wise over "
        f"all edges by the largest statistic {cite('westfall1993')}, and the false discovery rate "
        f"(q) estimated from the same permutations {cite('storey2003')}; differences with "
        f"q ≤ {level:g} are called significant."
    )
    if len(tables.components(comparison)):
        text += (
            f" Connected sets of edges with a statistic beyond {COMPONENT_T:g} were tested by "
            f"their strength {cite('zalesky2010')}."
        )
    return text


def _refinements(comparison: Comparison, cite: Citations) -> str:
    if not comparison.refinements:
        return ""
    methods = joined([MOVED_BY.get(name, name) for name in comparison.refinements])
    return (
        "To see which weights tell the groups apart, the networks were refined discriminatively "
        f"{cite('zhou2016')} by {methods}, with a bounded loss of fit."
    )


def _accuracy(comparison: Comparison, cite: Citations) -> str:
    found, settings = comparison.accuracy, comparison.settings
    if found is None:
        return ""
    n_folds, repeats = int(found.folds.max()) + 1, len(found.folds)
    others = [name for name in found.probabilities if name not in (OURS, COVARIATES_ALONE)]
    apart = ", the visits of a person in one fold" if comparison.cohort.pair is not None else ""
    chosen = f", the choice of {settings.select} regions among it" if settings.select else ""
    times = "once" if repeats == 1 else f"{repeats} times"
    text = (
        f"How well the groups can be told apart was estimated by {n_folds}-fold stratified "
        f"cross-validation, {times}{apart}; all preparation{chosen} was repeated in each training "
        "part. The group of a subject was predicted by the likelihood of one network a group with "
        f"settings found inside the training part, and beside it by {joined(others)} "
        f"{cite('pedregosa2011')}"
    )
    if COVARIATES_ALONE in found.probabilities:
        text += ", and by a logistic regression on covariates and site alone"
    return text + (
        f". Intervals ({1 - settings.level:.0%}) allow for the overlap of training parts "
        f"{cite('nadeau2003')}."
    )


def _deviations(comparison: Comparison, cite: Citations) -> str:  # noqa: ARG001
    if comparison.deviations is None:
        return ""
    return (
        f"The deviation of each subject from the network of {comparison.reference} was measured by "
        "its regions given their parents; subjects of that group were compared with networks "
        "learned without them."
    )


def _programs(comparison: Comparison, cite: Citations) -> str:
    used = versions()
    others = joined([f"{name} {number}" for name, number in used.items() if name != "sgbn"])
    return (
        f"All was computed with sgbn {used['sgbn']} {cite('zhou2016')} and {others}; the seed was "
        f"{comparison.settings.seed}."
    )
