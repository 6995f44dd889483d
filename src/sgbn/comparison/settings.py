"""The settings of a comparison, and its input.

`Settings` says which steps are done, and how thoroughly. `read_source` returns the input: a cohort
as it is, or one that is read from a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Self

from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.core.problems import InputError, did_you_mean
from sgbn.core.validation import NONE, SHARE, TRUTH, OneOf, Parameters, Whole
from sgbn.inference.difference_problem import FEWEST_PERMUTATIONS, read_among, read_edges
from sgbn.inference.intervals import repeats_for
from sgbn.inference.permutations import permutations_needed
from sgbn.inference.replication import HALF
from sgbn.prepare.outliers import OUTLIERS, TRANSFORMS
from sgbn.read.files import Source
from sgbn.read.series import read_any, read_series
from sgbn.read.table import read_table

REFINEMENTS = ("KL-SGBN", "MM-SGBN", "CL-SGBN")
ALLOWED: Parameters = {
    "select": NONE | Whole(1),
    **dict.fromkeys(("n_permutations", "n_pairs", "accuracy_permutations", "seed"), Whole(0)),
    # Unlike the other counts it may be None. The sizes of the groups then decide.
    "n_repeats": NONE | Whole(0),
    "n_folds": Whole(2),
    **dict.fromkeys(("models", "sensitivity", "deviations", "model", "peers"), TRUTH),
    "rows_are_subjects": TRUTH,
    "level": SHARE,
    "outliers": NONE | OneOf(*OUTLIERS),
    "transform": NONE | OneOf(*TRANSFORMS),
}


# Settings that time series cannot have, with the reason. A value without effect is allowed.
REFUSED = {
    "replicate": "differences of time series are not yet tested in two parts of the subjects",
    "select": "classifiers of time series use all regions",
    "transform": "networks are learned from the filtered series without a transformation",
    "outliers": "networks keep all subjects, so outliers must be removed from the data beforehand",
}


@dataclass(frozen=True)
class Settings:
    """The settings of a comparison. A number of 0 leaves its step out.

    Attributes
    ----------
    reference : str, optional
        The group with which the others are compared. By default it is a group whose name looks like
        controls. If there is none, it is the first group by name; see
        `sgbn.cohort.design.usual_reference`.
    select : int, optional
        The number of regions that a classifier may use. They are chosen again in the training part
        of every fold. Networks and tests always have all regions, because a choice by the labels
        would make them invalid.
    n_permutations : int
        The number of permutations of the tests of differences between the groups. It must be large
        enough for a false discovery rate (q) as small as `level`.
    edges : tuple of (source, target)
        The edges that were named before the data were seen. Each of them is tested by itself, in
        addition to the tests of all edges.
    among : tuple of str
        The regions or lobes that were named before the data were seen. All edges between them are
        tested together.
    replicate : str, optional
        The part of the subjects that is held back. Differences are tested in the other subjects,
        and the differences found are tested again in this part. "half" is a random half of each
        group at each site. "COLUMN=VALUE" are the subjects whose site or covariate has
        this value, such as "site=NYU". See `replicate_differences`.
    n_pairs : int
        The number of splits of each group into two half samples, for the confidence of edges.
        Without half samples, no direction is supported.
    n_folds : int
        The number of folds of the cross-validation.
    n_repeats : int, optional
        The number of repeats of the cross-validation. By default, repeats are added while each of
        them narrows the interval of the accuracy by at least 5 %. No more are added when the
        interval is expected to reach at most 3 points to each side. This gives 4 repeats for 5
        folds of a few hundred subjects, and fewer for thousands; see `repeats_for`.
    accuracy_permutations : int
        The number of exchanges of the labels for a p of the accuracy of our classifier. Each
        exchange fits the classifier again in every fold. 19 exchanges take half as long as the
        cross-validation with default settings (120 subjects, 20 regions), and 99 take 2.7 times as
        long. Without exchanges, p comes from a corrected t test; see `Accuracy.p_value`.
    refinements : tuple of str
        The discriminative refinements of the networks: any of "KL-SGBN", "MM-SGBN" and "CL-SGBN".
    models : bool
        Whether the network of each group is compared with hidden factors, a graphical lasso and
        independence. The comparison is by their prediction of unseen subjects; see
        `compare_models`.
    sensitivity : bool
        Whether the tests of differences are repeated with other sparsity and with another order of
        the regions. The repetitions have fewer permutations; see `Sensitivity`.
    deviations : bool
        Whether the deviation of each subject from the reference group is computed.
    model : bool
        Whether the cross-validated analysis is also fitted to all subjects, for `sgbn predict`.
    peers : bool
        Whether common classifiers and networks of other sparsity are cross-validated too.
    level : float
        The level of the tests (false discovery rate). Intervals cover ``1 - level``.
    outliers : {"trim", "keep"}, optional
        Whether networks, half samples and tests of differences leave out subjects that lie far from
        the others of their group, after sites and covariates are taken out. By default, the learner
        decides; `SGBN` leaves them out. If the learner does not look for outliers, its networks
        have all subjects, and only the tests leave some out. If one row of a person is an outlier,
        the tests leave out all rows of this person. Refinements and classifiers always have all
        subjects.
    transform : {"none", "normal-scores"}, optional
        The transformation of the values from which the graphs of networks and half samples are
        learned. Weights are always in the units of the data. By default, the learner decides;
        `SGBN` does not transform.
    rows_are_subjects : bool
        Whether rows are accepted as subjects even if they look like sessions of a person, copies or
        points in time. Otherwise such rows stop a comparison.
    seed : int
        The seed of all random numbers. Results do not depend on the number of processes.
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
        # Only object.__setattr__ can set a field of a frozen dataclass. Lists become tuples, so
        # that equal settings compare equal, and a second start finds its study.
        object.__setattr__(self, "refinements", tuple(self.refinements))
        object.__setattr__(self, "edges", _pairs(self.edges))
        # A single text is one name, not a sequence of letters.
        among = [self.among] if isinstance(self.among, str) else self.among
        object.__setattr__(self, "among", tuple(str(name) for name in among))
        for name, allowed in ALLOWED.items():
            # `check` turns numpy's numbers into Python's numbers, which JSON can write.
            object.__setattr__(self, name, allowed.check(name, getattr(self, name)))
        _check_permutations(self.n_permutations, self.level)
        if not self.n_permutations and (self.edges or self.among):
            raise InputError("settings.untested").says(
                "{edges=} and {among=} are tested by permutations, but there are none",
                "Give {n_permutations=999}.",
            )
        self._check_replicate()
        if 0 < self.accuracy_permutations < FEWEST_PERMUTATIONS:
            raise InputError("settings.few-permutations", least=FEWEST_PERMUTATIONS).says(
                "with so few {accuracy_permutations=}, p cannot be as small as 0.05",
                "Give at least {least}, or 0 for none.",
            )
        for name in self.refinements:
            if name not in REFINEMENTS:
                near = did_you_mean(name, REFINEMENTS)
                raise InputError("settings.refinement", name=name, near=near).says(
                    "{refinements=} has {name}, which is not a refinement", "{near}"
                )

    def _check_replicate(self) -> None:
        how = self.replicate
        if how is None:
            return
        if how != HALF and not (isinstance(how, str) and "=" in how):
            raise InputError("settings.replicate", how=how).says(
                "{replicate=} does not take {how}",
                "Give 'half', or COLUMN=VALUE such as 'site=NYU'.",
            )
        if not self.n_permutations:
            raise InputError("settings.untested").says(
                "{replicate=} tests differences by permutations, but there are none",
                "Give {n_permutations=999}.",
            )

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the names of the requested steps, in their order."""
        from sgbn.comparison.steps import STEPS  # the steps import the settings

        # `compare` does the steps in this order, and a report shows them in this order.
        asked = {step.name: step for step in STEPS if step.asked(self)}
        return tuple(name for name, step in asked.items() if step.needs in ("", *asked))

    @classmethod
    def networks_only(cls, **more: Any) -> Self:
        """Make settings that only learn one network per group. `more` are other settings."""
        from sgbn.comparison.steps import STEPS

        none = {step.setting: step.off for step in STEPS if step.setting}
        return cls(**(none | {"accuracy_permutations": 0} | more))

    @classmethod
    def quick(cls, **more: Any) -> Self:
        """Make settings for a first look: fewer steps, permutations and repeats, and one peer.

        `more` are other settings, which replace the quick ones.
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

    def repeats(self, cohort: Cohort) -> int:
        """Return `n_repeats`. If it is None, the number follows from the sizes of the groups."""
        if self.n_repeats is None:
            # Persons and families are counted instead of rows, because folds keep them together.
            return repeats_for(list(cohort.unit_counts.values()), self.n_folds)
        return self.n_repeats

    def for_cohort(self, cohort: Cohort) -> Self:
        """Return the settings for a cohort: `n_repeats` as a number, and only steps it can have.

        Raises
        ------
        InputError
            If a setting asks for something that time series cannot have.
        """
        settings = replace(self, n_repeats=self.repeats(cohort))
        if not isinstance(cohort, SeriesCohort):
            return settings
        for name, why in REFUSED.items():
            value = getattr(self, name)
            if value and (name, value) not in (("transform", "none"), ("outliers", "keep")):
                raise InputError("series.setting", argument=name, value=value, why=why).says(
                    "{argument} {value} is not for time series: {why:s}", "Leave it out."
                )
        from sgbn.comparison.steps import STEPS

        # These steps are on by default. They are left out silently, as nobody asked for them.
        left_out = {step.setting: step.off for step in STEPS if step.not_for_series}
        return replace(settings, **left_out)

    def check_names(self, cohort: Cohort) -> None:
        """Raise InputError if the cohort lacks a region or lobe of `edges` or `among`."""
        read_edges(self.edges, cohort.regions)
        read_among(self.among, cohort.regions, cohort.lobes)


def _pairs(edges: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    """Return the edges as pairs of names, or raise InputError."""
    pairs = []
    # A single text is not split into letters, but fails the check below.
    for edge in (edges,) if isinstance(edges, str) else edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError("settings.edge", edge=repr(edge)).says(
                "{edges=} holds {edge:s}", "Give pairs (source, target) of regions."
            )
        pairs.append((str(edge[0]), str(edge[1])))
    return tuple(pairs)


def _check_permutations(n_permutations: int, level: float) -> None:
    """Raise InputError if there are too few permutations for a q as small as the level.

    0 is allowed: then there are no tests.
    """
    needed = max(permutations_needed(level, "q"), FEWEST_PERMUTATIONS)
    if 0 < n_permutations < needed:
        raise InputError(
            "settings.few-permutations", n=n_permutations, level=level, least=needed
        ).says(
            "with {n} permutations, no false discovery rate can reach the level {level:g}",
            "Give {n_permutations=} of at least {least}, or 0 for no tests.",
        )


READING = tuple(  # the keywords of the readers, without the source
    dict.fromkeys(  # each keyword once, in the order that a message shows
        name
        for reader in (read_table, read_series)
        for name in list(inspect.signature(reader).parameters)[1:]
    )
)


KEYWORDS = ("settings", "learner", "n_jobs", "folder", "progress", "on_step", "on_found")  # compare


def read_source(source: Cohort | Source, reading: Mapping[str, Any]) -> Cohort:
    """Return the cohort, or read it from a table.

    Parameters
    ----------
    source : Cohort, DataFrame or path
        A cohort, or the table to read. `read_series` reads time series, and `read_table` reads
        other tables.
    reading : mapping
        The keywords of the reader and their values.

    Raises
    ------
    InputError
        If the reader does not have a keyword, or if there are keywords and the source is a cohort.
    """
    # Keywords are checked before the file is read, which may take minutes.
    for name in reading:
        _check_keyword(name)
    if isinstance(source, str | PathLike) or hasattr(source, "columns"):
        # `READING` has the keywords of both readers. `read_any` refuses keywords of the other one.
        return read_any(source, **reading)
    check_cohort(source)
    if reading:
        raise InputError("compare.reading", name=next(iter(reading))).says(
            "{name:s}= says how to read a table, but the Cohort has been read already",
            "Give it to read_table, or give the table in place of the Cohort.",
        )
    return source


def check_settings(settings: Any) -> Settings:
    """Return the settings, or the default settings for None. Raise InputError for other types."""
    if settings is None:
        return Settings()
    if isinstance(settings, Settings):
        return settings
    raise InputError("settings.type", kind=type(settings).__name__).says(
        "settings is a {kind:s}", "Give sgbn.Settings(**settings) or sgbn.Settings.quick()."
    )


def _check_keyword(name: str) -> None:
    if name in READING:
        return
    if name in [field.name for field in fields(Settings)]:
        raise InputError("compare.setting", name=name).says(
            "{name:s}= is a setting", "Give settings=sgbn.Settings({name:s}=...)."
        )
    near = did_you_mean(name, (*READING, *KEYWORDS))
    raise InputError("compare.keyword", name=name, near=near).says(
        "compare has no keyword {name}", "{near}"
    )
