"""What a comparison of groups found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.picture import plot_differences
from sgbn.comparison.sensitivity import Sensitivity
from sgbn.comparison.settings import Settings
from sgbn.comparison.summary import Words, make_words
from sgbn.comparison.tables import Tables, make_tables
from sgbn.exceptions import InputError
from sgbn.html_repr import html_repr
from sgbn.inference import Deviations, Differences, EdgeConfidence, ModelComparison, Replication
from sgbn.preprocessing.preparation import regions_table
from sgbn.quality import Review
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble import supported_of
from sgbn.types import Array, Mask

SHOWN = 4  # lines about edges, of which a notebook shows all but the first: the verdict has it


@dataclass(frozen=True)
class Comparison:
    """Networks of the groups of a cohort, and what tells them apart.

    Attributes
    ----------
    review : Review
        What was found in the cohort and its prepared regions; `review.cohort` is the part that was
        used.
    settings : Settings
    prepared : Cohort
        What the networks were learned from: imputed, harmonised, covariates regressed out; see
        `sgbn.preprocessing.prepare`. Time series stay as they are.
    learners : mapping of group to fitted learner
        The reference first.
    searcher : estimator or None
        Not fitted: learner of the tests, `models`, refinements, deviations and refined classifiers,
        which is `SGBN` where the networks are those of an `SGBNEnsemble`.
    models : mapping of group to ModelComparison
        How well a network, by the `searcher` in training parts, predicts unseen subjects beside
        hidden factors without edges, a graphical lasso and independence.
    beside_factors : mapping of group to record array
        Edges refitted beside the leading hidden factors, see `edges_beside_factors`.
    confidence : mapping of group to EdgeConfidence
        What half samples agree on; without the groups that were too small.
    tests : Differences or None
        Tests of the differences between the groups, without the subjects that lie far out: its own
        `left_out` names them.
    replication : Replication or None
        Differences that one part of the subjects shows, tested in the others.
    sensitivity : Sensitivity or None
        The same tests with other sparsity and another order of the regions.
    refinements : mapping of name to structured ndarray
        How KL-, MM- and CL-SGBN move the weights to tell the groups apart, see `edge_changes`.
    accuracy : Accuracy or None
    model : Pipeline or None
        The first classifier, fitted to all subjects; see `fit_model`.
    deviations : Deviations or None
        Of every subject from the network of the reference, in the order of the cohort; those of the
        reference itself are cross-fitted.
    skipped : mapping of step to reason
        Steps that could not be done.
    warnings : tuple of str
    seconds : mapping of step to seconds
    pending : tuple of str
        Steps that are still to come, in what `compare` hands to its ``on_found``; else empty.
    truth : mapping of group to ndarray
        True standardised weights of a simulated cohort, else empty.
    """

    review: Review
    settings: Settings
    prepared: Cohort
    learners: Mapping[str, LearnedNetwork]
    searcher: LearnedNetwork | None = None
    models: Mapping[str, ModelComparison] = field(default_factory=dict)
    beside_factors: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    confidence: Mapping[str, EdgeConfidence] = field(default_factory=dict)
    tests: Differences | None = None
    replication: Replication | None = None
    sensitivity: Sensitivity | None = None
    refinements: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    accuracy: Accuracy | None = None
    model: Pipeline | None = None
    deviations: Deviations | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    truth: Mapping[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{group} {self.cohort.sizes[group]}" for group in self.groups)
        tests = ""
        if self.tests is not None:
            both = np.count_nonzero(self.tests.edges["q_both"] <= self.settings.level)
            tests = (
                f"; {both} of {len(self.tests.edges)} edges differ both ways (q_both <= "
                f"{self.settings.level:g}); global p = {self.tests.global_p:.3g}"
            )
        return f"Comparison({sizes} x {len(self.cohort.regions)} regions{tests})"

    def _repr_html_(self) -> str:
        sentences = [*self.words.verdict, *self.words.edges[1:SHOWN], self.words.trust]
        more = (
            "With this comparison as c: print(c.summary()) says all of it, c.differences has the "
            "tested edges, c.plot() draws them, and sgbn.write_comparison(c, folder) writes the "
            "report."
        )
        return html_repr(repr(self), [*filter(None, sentences), more])

    def summary(self) -> str:
        """Say what was found, in plain words: the text that the terminal and the report show."""
        return str(self.words)

    def plot(self, group: str | None = None, *, top: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the surest differences from the reference, with intervals; see `plot_forest`.

        Parameters
        ----------
        group : str, optional
            The group that is compared with the reference; needed of more than two groups.
        top : int
            At most so many edges.
        ax : Axes, optional
            By default those of a new figure, ``comparison.plot().figure``.

        Returns
        -------
        Axes
        """
        return plot_differences(self, group, top=top, ax=ax)

    @property
    def of_series(self) -> bool:
        """Whether the subjects have time series, and not one row each."""
        return isinstance(self.cohort, SeriesCohort)

    # A frozen class allows it: cached_property writes to __dict__, past __setattr__.
    @cached_property
    def regions(self) -> pd.DataFrame:
        """Regions that the networks were learned from, as a table."""
        if self.of_series:
            raise InputError(
                "the networks were learned from time series, not from one row per subject. Take "
                "comparison.cohort.series."
            )
        return regions_table(self.prepared)

    @property
    def cohort(self) -> Cohort:
        """The subjects and regions that were used."""
        return self.review.cohort

    def kept(self, group: str) -> Cohort:
        """Subjects of a group that its network was learned from, with prepared regions."""
        # The prepared cohort has the same rows in the same order.
        rows = np.flatnonzero(np.asarray(self.cohort.group) == group)
        # `outliers_` marks rows of the group alone: the learner saw no others
        far = getattr(self.learners[group], "outliers_", np.zeros(len(rows), bool))
        return self.prepared.subset(rows[~far])

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, the reference first."""
        return tuple(self.learners)  # in the order in which `Job.groups` has them

    @cached_property
    def n_sites(self) -> int:
        """How many sites the subjects are from; 0 if that is unknown."""
        return 0 if self.cohort.site is None else len(np.unique(self.cohort.site))

    @property
    def reference(self) -> str:
        """The group that the others are compared with."""
        return self.groups[0]

    @cached_property
    def tables(self) -> Tables:
        """All that was found as tables, made once."""
        return make_tables(self)

    @property
    def differences(self) -> pd.DataFrame:
        """Tested edges, the most different first; empty if they were not tested."""
        return self.tables.differences

    @cached_property
    def words(self) -> Words:
        """All that was found in words, made once."""
        return make_words(self)

    @cached_property
    def left_out(self) -> Mapping[str, tuple[str, ...]]:
        """Subjects of each group that lie far out: its network and the tests do without them.

        Tests of paired visits leave out the other visits of these persons too, and tests beside
        networks of a learner that knows of no outliers look for them; see `Differences.left_out`.
        """
        group, ids = np.asarray(self.cohort.group), np.asarray(self.cohort.ids)
        none = slice(0)  # of a learner that looks for no outliers
        far = {name: getattr(fit, "outliers_", none) for name, fit in self.learners.items()}
        return {name: tuple(ids[group == name][rows].tolist()) for name, rows in far.items()}

    @cached_property
    def far_out(self) -> Mapping[str, tuple[Any, ...]]:
        """Subjects of each group that lie far out, and were left out of networks or tests."""
        # Networks of a learner that keeps outliers leave nobody out, but the tests may.
        tested = None if self.tests is None else self.tests.left_out
        return self.left_out if any(self.left_out.values()) else tested or self.left_out

    @cached_property
    def supported(self) -> Mapping[str, Mask]:
        """Edges i -> j of the network of each group whose direction half samples support.

        They alone are drawn as arrows. By the thresholds of an `SGBNEnsemble`; those of
        `EdgeConfidence.supported` for another learner; none without half samples. Half samples
        agree on the shadows of hidden factors as well: where factors without any edge predict
        unseen subjects better than the network, only edges that stay beside them count.
        """
        arrows = dict(self.agreed)
        for group, compared in self.models.items():
            if compared.edges_may_be_shadows:
                # `beside_factors` has one row per edge, in the order of np.nonzero
                stays = np.zeros(arrows[group].shape, bool)
                stays[np.nonzero(self.learners[group].coef_)] = self.beside_factors[group]["stays"]
                arrows[group] = arrows[group] & stays
        return arrows

    @cached_property
    def agreed(self) -> Mapping[str, Mask]:
        """Edges whose direction half samples agree on, even if hidden factors may explain them."""
        return {
            group: supported_of(learner, self.confidence.get(group))
            for group, learner in self.learners.items()
        }
