"""What a comparison does, and how thoroughly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from sgbn.exceptions import InputError, did_you_mean
from sgbn.structure.robust import OUTLIERS, TRANSFORMS

REFINEMENTS = ("KL-SGBN", "MM-SGBN", "CL-SGBN")


@dataclass(frozen=True)
class Settings:
    """Steps of a comparison. A number of 0 leaves its step out.

    Attributes
    ----------
    reference : str, optional
        The group that the others are compared with; by default the first by name.
    select : int, optional
        Regions that a classifier may use, chosen anew in the training part of every fold. Networks
        and tests have all regions in any case: a choice by the labels would make them invalid.
    n_permutations : int
        Of the tests of differences between the groups.
    n_pairs : int
        Splits of each group into two half samples, for the confidence of edges. Without any, no
        direction is supported.
    n_folds, n_repeats : int
        Of the cross-validation.
    refinements : tuple of str
        Discriminative refinements of the networks, of "KL-SGBN", "MM-SGBN" and "CL-SGBN".
    models : bool
        Whether the network of each group is compared with hidden factors, a graphical lasso and
        independence by how well they predict unseen subjects; see `compare_models`.
    deviations : bool
        Whether the deviation of each subject from the reference group is computed.
    model : bool
        Whether the cross-validated analysis is fitted to all subjects too, for `sgbn predict`.
    peers : bool
        Whether common classifiers run beside ours, and networks of other sparsity.
    level : float
        Of tests (false discovery rate) and, as ``1 - level``, of intervals.
    outliers : {"trim", "keep"}, optional
        Whether networks and half samples leave out subjects that lie far from the others of their
        group, once sites and covariates are taken out. By default as the learner has it; `SGBN`
        leaves them out. Tests, refinements and classifiers have all subjects.
    transform : {"none", "normal-scores"}, optional
        What the graphs of networks and half samples are learned from; weights are in the units of
        the data in any case. By default as the learner has it; `SGBN` takes the values as they
        are.
    rows_are_subjects : bool
        Whether rows that look like sessions of a person, copies or points in time are subjects all
        the same: without it they stop a comparison.
    seed : int
        Of everything random. Results do not depend on the number of processes.
    """

    reference: str | None = None
    select: int | None = None
    n_permutations: int = 999
    n_pairs: int = 50
    n_folds: int = 5
    n_repeats: int = 5
    refinements: tuple[str, ...] = REFINEMENTS
    models: bool = True
    deviations: bool = True
    model: bool = True
    peers: bool = True
    level: float = 0.05
    outliers: str | None = None
    transform: str | None = None
    rows_are_subjects: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "refinements", tuple(self.refinements))
        for name in ("n_permutations", "n_pairs", "n_repeats", "seed"):
            _check_count(name, getattr(self, name), 0)
        _check_count("n_folds", self.n_folds, 2)
        if self.select is not None:
            _check_count("select", self.select, 1)
        if not 0 < self.level < 1:
            raise InputError(f"level is {self.level!r}: give a number between 0 and 1.")
        for name, choices in (("outliers", OUTLIERS), ("transform", TRANSFORMS)):
            if getattr(self, name) not in (None, *choices):
                raise InputError(f"{name} is {getattr(self, name)!r}; give one of {choices}.")
        for name in self.refinements:
            if name not in REFINEMENTS:
                near = did_you_mean(name, REFINEMENTS)
                raise InputError(f"refinements has {name!r}, which is none. {near}")

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps that are asked for, in their order."""
        asked = {
            "networks": True,
            "models": self.models,
            "confidence": self.n_pairs,
            "differences": self.n_permutations,
            "refinements": self.refinements,
            "deviations": self.deviations,
            "accuracy": self.n_repeats,
            "model": self.model and self.n_repeats,
        }
        return tuple(name for name, wanted in asked.items() if wanted)

    @classmethod
    def networks_only(cls, **more: Any) -> Self:
        """Make settings that learn one network per group, and do nothing else."""
        none: dict[str, Any] = {
            **dict.fromkeys(("n_permutations", "n_pairs", "n_repeats"), 0),
            "refinements": (),
            "models": False,
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
            "deviations": False,
            "model": False,
            "refinements": ("CL-SGBN",),
            "peers": False,
        }
        return cls(**(few | more))

    def with_reference(self, groups: tuple[str, ...]) -> Self:
        """Name the reference, which must be one of the groups."""
        reference = groups[0] if self.reference is None else str(self.reference)
        if reference not in groups:
            near = did_you_mean(reference, groups)
            raise InputError(f"no group is called {reference!r} (the reference). {near}")
        return replace(self, reference=reference)


def _check_count(name: str, value: object, smallest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
        raise InputError(f"{name} is {value!r}: give a whole number from {smallest} on.")
