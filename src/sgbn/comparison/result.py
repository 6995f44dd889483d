"""The result of a comparison of groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import Accuracy
from sgbn.comparison.steps.differences import change_words, differences_of, verdict
from sgbn.comparison.steps.sensitivity import Sensitivity
from sgbn.comparison.summary import Words, make_words
from sgbn.comparison.tables import Tables, make_tables
from sgbn.core.gaussian import html_repr
from sgbn.core.problems import InputError, Problem, did_you_mean, reader
from sgbn.core.types import Array, Mask
from sgbn.inference.deviation import Deviations
from sgbn.inference.difference_tables import Differences
from sgbn.inference.models import ModelComparison
from sgbn.inference.replication import Replication
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.confidence import EdgeConfidence, supported_of
from sgbn.prepare.pipeline import regions_table
from sgbn.prepare.review import Review
from sgbn.write.draw.differences import plot_forest

if TYPE_CHECKING:
    import pandas as pd


INCHES = (8.4, 1.6, 0.27)  # width, height without rows, height per row
SHOWN = 4  # lines about edges; a notebook leaves out the first, which the verdict says already


@dataclass(frozen=True)
class Comparison:
    """The networks of the groups of a cohort, and the differences between them.

    Attributes
    ----------
    review : Review
        The findings about the cohort and its prepared regions. `review.cohort` is the part of the
        cohort that was used.
    settings : Settings
        The settings of the comparison.
    prepared : Cohort
        The cohort from which the networks were learned: imputed, harmonised and with covariates
        regressed out; see `sgbn.prepare.prepare`. Time series stay as they are.
    learners : mapping of group to fitted learner
        The fitted learner of each group, the reference first.
    outliers : ndarray of bool
        A mask of the subjects of `prepared` that the networks leave out as outliers. If the learner
        does not look for outliers, the tests do it themselves; see `Differences.left_out`.
    searcher : estimator or None
        The learner of the tests, `models`, refinements, deviations and refined classifiers. It is
        not fitted. It is `SGBN` if an `SGBNEnsemble` learned the networks.
    models : mapping of group to ModelComparison
        How well a network predicts unseen subjects, compared with hidden factors without edges, a
        graphical lasso and independence. The `searcher` learns these networks in training parts.
    beside_factors : mapping of group to record array
        The edges after a refit with the leading hidden factors; see `edges_beside_factors`.
    confidence : mapping of group to EdgeConfidence
        The agreement of half samples on the edges. Groups that were too small are not included.
    tests : Differences or None
        The tests of the differences between the groups. They leave out the subjects that lie far
        from the others of their group; its attribute `left_out` names these subjects.
    replication : Replication or None
        The differences that one part of the subjects shows, and their tests in the other part.
    sensitivity : Sensitivity or None
        The same tests with other sparsity and another order of the regions.
    refinements : mapping of name to structured ndarray
        How KL-, MM- and CL-SGBN move the weights to tell the groups apart; see `edge_changes`.
    accuracy : Accuracy or None
        The cross-validated accuracy of classifiers.
    model : Pipeline or None
        The first classifier, fitted to all subjects; see `fit_model`.
    deviations : Deviations or None
        The deviation of every subject from the network of the reference, in the order of the
        cohort. Subjects of the reference itself are cross-fitted.
    skipped : mapping of step to Problem
        The steps that could not be done, and the reasons.
    warnings : tuple of Problem
        The warnings, each once.
    seconds : mapping of step to seconds
        The time of each step.
    pending : tuple of str
        The steps that are not done yet, in the comparison that `compare` gives to its ``on_found``.
        Otherwise it is empty.
    given : tuple of str
        The subjects in the order of the data, which tables of subjects have too. The cohort has
        them in an order that depends on their content only (`sgbn.cohort.rows.cohort_order`), and
        so have `prepared`, `outliers`, `deviations`, `accuracy` and the learners.
    truth : mapping of group to ndarray
        The true standardised weights of a simulated cohort. Otherwise it is empty.
    """

    review: Review
    settings: Settings
    prepared: Cohort
    learners: Mapping[str, LearnedNetwork]
    outliers: Mask
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
    skipped: Mapping[str, Problem] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
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
            "If c is this comparison, print(c.summary()) shows the whole summary, c.differences "
            "has the tested edges, c.plot() draws them, and sgbn.write_comparison(c, folder) "
            "writes the report."
        )
        return html_repr(repr(self), [*filter(None, sentences), more])

    def summary(self) -> str:
        """Return the results in plain words, as the terminal and the report show them."""
        return str(self.words)

    def plot(self, group: str | None = None, *, top: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the surest differences from the reference, with intervals; see `plot_forest`.

        Parameters
        ----------
        group : str, optional
            The group that is compared with the reference. It is required if there are more than
            two groups.
        top : int
            The largest number of edges to draw.
        ax : Axes, optional
            The axes to draw in. By default, these are the axes of a new figure, which is
            ``comparison.plot().figure``.

        Returns
        -------
        Axes
        """
        if self.tests is None:
            raise InputError("result.untested", why=self.skipped.get("differences", "")).says(
                "there is nothing to draw, because no difference was tested", "{why:s}"
            )
        compared = self.groups[1:]
        # With several other groups, the user has to name one.
        group = compared[0] if group is None and len(compared) == 1 else group
        if group not in compared:
            raise InputError(
                "groups.unknown", group=group, near=did_you_mean(group, compared)
            ).says("group is {group}, and not one that was compared with the reference", "{near}")
        table, level = differences_of(self, group), self.settings.level
        if "standard_error" not in table:
            raise InputError("result.all-together", n=len(self.groups)).says(
                "{n} groups were only tested all together", "Compare two of them ({groups=})."
            )
        if ax is None:
            # Only figures of pyplot appear in notebooks and plt.show().
            from matplotlib import pyplot as plt

            width, height, row = INCHES
            size = (width, height + row * min(len(table), top))
            ax = plt.figure(figsize=size, layout="constrained").add_subplot()
        return plot_forest(
            ax,
            table,
            self.reference,
            group,
            labels=self.cohort.labels,
            top=top,
            level=level,
            title=f"{change_words(self, group)}: {verdict(self, group)}",
        )

    @property
    def of_series(self) -> bool:
        """Return whether the subjects have time series instead of one row each."""
        return isinstance(self.cohort, SeriesCohort)

    # cached_property works in a frozen class, because it writes to __dict__ directly.
    @cached_property
    def regions(self) -> pd.DataFrame:
        """Return the regions from which the networks were learned, as a table."""
        if self.of_series:
            raise InputError("result.series").says(
                "the networks were learned from time series, not from one row per subject",
                "Use comparison.cohort.series.",
            )
        return regions_table(self.prepared)

    @property
    def cohort(self) -> Cohort:
        """Return the cohort of the subjects and regions that were used."""
        return self.review.cohort

    def kept(self, group: str) -> Cohort:
        """Return the prepared subjects from which the network of a group was learned."""
        rows = (np.asarray(self.prepared.group) == group) & ~self.outliers
        return self.prepared.subset(np.flatnonzero(rows))

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups, the reference first."""
        return tuple(self.learners)  # they have the order of `Job.groups`

    @cached_property
    def n_sites(self) -> int:
        """Return the number of sites of the subjects, or 0 if the sites are unknown."""
        return 0 if self.cohort.site is None else len(np.unique(self.cohort.site))

    @property
    def reference(self) -> str:
        """Return the group with which the others are compared."""
        return self.groups[0]

    @cached_property
    def tables(self) -> Tables:
        """Return all results as tables. They are made once."""
        return make_tables(self)

    @property
    def differences(self) -> pd.DataFrame:
        """Return the tested edges, the most different first. It is empty without tests."""
        return self.tables.differences

    @cached_property
    def _words(self) -> dict[tuple[bool, bool, bool], Words]:
        return {}

    @property
    def words(self) -> Words:
        """Return all results in words. They are made once for each kind of reader."""
        if reader() not in self._words:
            self._words[reader()] = make_words(self)
        return self._words[reader()]

    @cached_property
    def left_out(self) -> Mapping[str, tuple[str, ...]]:
        """Return the subjects of each group that its network left out as outliers.

        The tests leave these subjects out too. If one row of a person is an outlier, the tests
        leave out all rows of this person.
        """
        group, ids = np.asarray(self.cohort.group), np.asarray(self.cohort.ids)
        return {name: tuple(ids[(group == name) & self.outliers].tolist()) for name in self.groups}

    @cached_property
    def far_out(self) -> Mapping[str, tuple[Any, ...]]:
        """Return the subjects of each group that networks or tests left out as outliers."""
        # A learner that keeps outliers leaves nobody out, but the tests may.
        tested = None if self.tests is None else self.tests.left_out
        return self.left_out if any(self.left_out.values()) else tested or self.left_out

    @cached_property
    def supported(self) -> Mapping[str, Mask]:
        """Return, for each group, a mask of the edges i -> j with a supported direction.

        A direction is supported if enough half samples have it. Only these edges are drawn as
        arrows. The thresholds are those of the `SGBNEnsemble`, or of `EdgeConfidence.supported` for
        another learner. Without half samples, no direction is supported.

        Half samples also agree on edges that come from hidden factors. If hidden factors alone,
        without edges, predict unseen subjects better than the network, an edge counts only if it
        stays in a refit with these factors.
        """
        arrows = dict(self.agreed)
        for group, compared in self.models.items():
            if compared.edges_may_be_shadows:
                # `beside_factors` has one row per edge, in the order of np.nonzero.
                stays = np.zeros(arrows[group].shape, bool)
                stays[np.nonzero(self.learners[group].coef_)] = self.beside_factors[group]["stays"]
                arrows[group] = arrows[group] & stays
        return arrows

    @cached_property
    def agreed(self) -> Mapping[str, Mask]:
        """Return, for each group, a mask of the edges on whose direction half samples agree.

        Unlike `supported`, this includes edges that hidden factors may explain.
        """
        return {
            group: supported_of(learner, self.confidence.get(group))
            for group, learner in self.learners.items()
        }
