"""What a comparison does, and how thoroughly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from sgbn.cohort import Cohort
from sgbn.comparison.intervals import repeats_for
from sgbn.exceptions import InputError, did_you_mean
from sgbn.inference.difference_request import FEWEST_PERMUTATIONS, read_among, read_edges
from sgbn.inference.held_back import HALF
from sgbn.inference.permutation_p import permutations_needed
from sgbn.parameters import NONE, SHARE, TRUTH, OneOf, Parameters, Whole
from sgbn.reference import choose_reference
from sgbn.structure.robust import OUTLIERS, TRANSFORMS

REFINEMENTS = ("KL-SGBN", "MM-SGBN", "CL-SGBN")
COUNTS = ("n_permutations", "n_pairs", "n_repeats", "accuracy_permutations")  # 0 leaves a step out
ALLOWED: Parameters = {
    "select": NONE | Whole(1),
    **dict.fromkeys((*COUNTS, "seed"), Whole(0)),
    # Once more: unlike the other counts it may be None, which means by the sizes of the groups.
    "n_repeats": NONE | Whole(0),
    "n_folds": Whole(2),
    **dict.fromkeys(("models", "sensitivity", "deviations", "model", "peers"), TRUTH),
    "rows_are_subjects": TRUTH,
    "level": SHARE,
    "outliers": NONE | OneOf(*OUTLIERS),
    "transform": NONE | OneOf(*TRANSFORMS),
}


@dataclass(frozen=True)
class Settings:
    """Steps of a comparison. A number of 0 leaves its step out.

    Attributes
    ----------
    reference : str, optional
        The group that the others are compared with. By default it is a group with a name of
        controls, else the first by name; see `sgbn.reference.usual_reference`.
    select : int, optional
        Regions that a classifier may use, chosen anew in the training part of every fold. Networks
        and tests have all regions in any case: a choice by the labels would make them invalid.
    n_permutations : int
        Permutations of the tests of differences between the groups: enough for a p as small as
        `level`.
    edges : tuple of (source, target)
        Edges that were named before the data were seen: each is tested by itself, beside the tests
        of all edges.
    among : tuple of str
        Regions or lobes that were named beforehand: all edges between them are tested together.
    replicate : str, optional
        Which part of the subjects is held back: differences are tested in the others, and those
        found are tested again in this part. "half" is a random half of each group at each site,
        "COLUMN=VALUE" are the subjects of a site or with a value of a covariate, such as
        "site=NYU". See `replicate_differences`.
    n_pairs : int
        Splits of each group into two half samples, for the confidence of edges. Without any, no
        direction is supported.
    n_folds : int
        Folds of the cross-validation.
    n_repeats : int, optional
        Repeats of the cross-validation. By default repeats are added while each narrows the
        interval of the accuracy by 5 % or more, until it is expected to be 3 points wide to each
        side: 4 for 5 folds of a few hundred subjects, fewer for thousands; see `repeats_for`.
    accuracy_permutations : int
        Exchanges of the labels for a p of the accuracy of our classifier, which is fitted anew in
        every fold of each: 19 take half as long as the cross-validation by default settings (120
        subjects, 20 regions), and 99 take 2.7 times as long. Without any, p is that
        of a corrected t, see `Accuracy.p_value`.
    refinements : tuple of str
        Discriminative refinements of the networks, of "KL-SGBN", "MM-SGBN" and "CL-SGBN".
    models : bool
        Whether the network of each group is compared with hidden factors, a graphical lasso and
        independence by how well they predict unseen subjects; see `compare_models`.
    sensitivity : bool
        Whether the tests of differences are repeated, with fewer permutations, with other sparsity
        and another order of the regions; see `Sensitivity`.
    deviations : bool
        Whether the deviation of each subject from the reference group is computed.
    model : bool
        Whether the cross-validated analysis is fitted to all subjects too, for `sgbn predict`.
    peers : bool
        Whether common classifiers run beside ours, and networks of other sparsity.
    level : float
        Level of tests (false discovery rate); intervals cover ``1 - level``.
    outliers : {"trim", "keep"}, optional
        Whether networks, half samples and tests of differences leave out subjects that lie far from
        the others of their group, once sites and covariates are taken out. By default as the
        learner has it; `SGBN` leaves them out. The networks of a learner that knows of no outliers
        have all subjects, and only the tests leave some out. Tests of paired visits leave out all
        visits of such a person. Refinements and classifiers have all subjects.
    transform : {"none", "normal-scores"}, optional
        What the graphs of networks and half samples are learned from; weights are in the units of
        the data in any case. By default as the learner has it; `SGBN` takes the values as they
        are.
    rows_are_subjects : bool
        Whether rows that look like sessions of a person, copies or points in time are subjects all
        the same: without it they stop a comparison.
    seed : int
        Seed of everything random. Results do not depend on the number of processes.
    """

    reference: str | None = None
    select: int | None = None
    n_permutations: int = 999
    edges: tuple[tuple[str, str], ...] = ()
    among: tuple[str, ...] = ()
    replicate: str | None = None
    n_pairs: int = 50
    n_folds: int = 5
    n_repeats: int | None = None
    accuracy_permutations: int = 0
    refinements: tuple[str, ...] = REFINEMENTS
    models: bool = True
    sensitivity: bool = True
    deviations: bool = True
    model: bool = True
    peers: bool = True
    level: float = 0.05
    outliers: str | None = None
    transform: str | None = None
    rows_are_subjects: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        # A frozen dataclass is set this way. Values are normalised (a list becomes a tuple),
        # so that equal settings compare equal, and their study is found again.
        object.__setattr__(self, "refinements", tuple(self.refinements))
        object.__setattr__(self, "edges", _pairs(self.edges))
        # a single name is meant as one name, not as its letters
        among = [self.among] if isinstance(self.among, str) else self.among
        object.__setattr__(self, "among", tuple(str(name) for name in among))
        for name, allowed in ALLOWED.items():
            # `check` makes Python's numbers of numpy's, which JSON could not write.
            object.__setattr__(self, name, allowed.check(name, getattr(self, name)))
        _check_permutations(self.n_permutations, self.level)
        if not self.n_permutations and (self.edges or self.among):
            raise InputError(
                "edges or among are given, but n_permutations is 0: nothing would be tested. Give "
                "999 permutations, or name none."
            )
        self._check_replicate()
        if 0 < self.accuracy_permutations < FEWEST_PERMUTATIONS:
            raise InputError(
                f"accuracy_permutations is {self.accuracy_permutations}: with fewer than "
                f"{FEWEST_PERMUTATIONS} no p can be 0.05. Give more, or 0 for none."
            )
        for name in self.refinements:
            if name not in REFINEMENTS:
                near = did_you_mean(name, REFINEMENTS)
                raise InputError(f"refinements has {name!r}, which is not a refinement. {near}")

    def _check_replicate(self) -> None:
        how = self.replicate
        if how is None:
            return
        if how != HALF and not (isinstance(how, str) and "=" in how):
            raise InputError(
                f"replicate is {how!r}: give 'half', or COLUMN=VALUE such as 'site=NYU'."
            )
        if not self.n_permutations:
            raise InputError(
                "replicate tests differences by permutations, and n_permutations is 0. Give 999, "
                "or leave replicate out."
            )

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps that are asked for, in their order."""
        asked = {
            "networks": True,
            "models": self.models,
            "confidence": self.n_pairs,
            "differences": self.n_permutations,
            "replication": self.replicate,
            "sensitivity": self.sensitivity and self.n_permutations,
            "refinements": self.refinements,
            "deviations": self.deviations,
            # None is not 0: the sizes of the groups then settle the number of repeats.
            "accuracy": self.n_repeats != 0,
            "model": self.model and self.n_repeats != 0,
        }
        # the order is the one in which `compare` does them, and in which a report shows them
        return tuple(name for name, wanted in asked.items() if wanted)

    @classmethod
    def networks_only(cls, **more: Any) -> Self:
        """Make settings that learn one network per group, and do nothing else."""
        none: dict[str, Any] = {
            **dict.fromkeys(COUNTS, 0),
            "refinements": (),
            "models": False,
            "sensitivity": False,
            "deviations": False,
            "model": False,
        }
        return cls(**(none | more))

    @classmethod
    def quick(cls, **more: Any) -> Self:
        """Make settings for a first look: fewer of everything, and no common classifiers but one.

        `more` are other settings, which go before these.
        """
        few: dict[str, Any] = {
            "n_permutations": 199,
            "n_pairs": 17,
            "n_folds": 4,
            "n_repeats": 1,
            "sensitivity": False,
            "deviations": False,
            "model": False,
            "refinements": ("CL-SGBN",),
            "peers": False,
        }
        return cls(**(few | more))

    def with_reference(self, groups: tuple[str, ...]) -> Self:
        """Name the reference, which must be one of the groups."""
        return replace(self, reference=choose_reference(groups, self.reference))

    def repeats(self, cohort: Cohort) -> int:
        """Repeats of the cross-validation: those asked for, or by the sizes of the groups."""
        if self.n_repeats is None:
            # persons and families count, not rows: these are what folds are made of
            return repeats_for(list(cohort.unit_counts.values()), self.n_folds)
        return self.n_repeats

    def with_repeats(self, cohort: Cohort) -> Self:
        """Return settings with `n_repeats` set, by the sizes of the groups if it was None."""
        return replace(self, n_repeats=self.repeats(cohort))

    def check_names(self, cohort: Cohort) -> None:
        """Raise InputError unless the regions and lobes that were named beforehand are there."""
        read_edges(self.edges, cohort)
        read_among(self.among, cohort)


def _pairs(edges: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return the edges as pairs of names, or raise InputError."""
    pairs = []
    # A text alone would be taken apart into letters; so it fails the check below.
    for edge in (edges,) if isinstance(edges, str) else edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError(f"edges holds {edge!r}: give pairs (source, target) of regions.")
        pairs.append((str(edge[0]), str(edge[1])))
    return tuple(pairs)


def _check_permutations(n_permutations: int, level: float) -> None:
    """Raise InputError if no p can reach the level with so few permutations; 0 is allowed."""
    needed = max(permutations_needed(level, "q"), FEWEST_PERMUTATIONS)
    if 0 < n_permutations < needed:
        raise InputError(
            f"n_permutations is {n_permutations}: no false discovery rate can reach "
            f"level={level:g} with fewer than {needed}. Give {needed} or more, or 0 for no tests."
        )
