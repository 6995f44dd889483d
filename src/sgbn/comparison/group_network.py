"""The network of one group of a cohort, as a comparison learns it."""

from __future__ import annotations

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.flows import flow_of
from sgbn.comparison.settings import Settings
from sgbn.core.exceptions import InputError, did_you_mean
from sgbn.learn.base import LearnedNetwork
from sgbn.prepare.findings import check_groups
from sgbn.prepare.review import Review, review
from sgbn.runs.study import Study


def group_network(
    cohort: Cohort,
    group: str,
    learner: LearnedNetwork | None = None,
    *,
    rows_are_subjects: bool = False,
    n_jobs: int | None = None,
) -> LearnedNetwork:
    """Learn the network of one group of a cohort.

    Missing cells are imputed, sites are harmonised and covariates are regressed out as in
    `compare`. The effects are estimated from all subjects of the cohort, within the groups. Time
    series are not changed. `compare` learns the same network with the same learner. Covariates and
    sites are never regions of the network.

    Parameters
    ----------
    cohort : Cohort
        A cohort with groups. One group is enough. The effects of sites and covariates are learned
        from all groups. Leave out unrelated groups with ``subset``.
    group : str
        The name of the group.
    learner : estimator, optional
        Any learner of sgbn. It is copied and not changed. By default it is the learner of
        `compare`: `SGBNEnsemble`, or `SeriesSGBN` for time series.
    rows_are_subjects : bool
        Whether rows that look like several visits of a person, copies or points in time are
        accepted as subjects; see `Settings`.
    n_jobs : int, optional
        The number of processes of an ensemble. Results do not depend on it.

    Returns
    -------
    estimator
        A fitted copy of the learner. Its `network_` is the network. `sgbn.edge_table` lists edges.

    Examples
    --------
    >>> import sgbn
    >>> cohort = sgbn.simulate_cohort(60, regions=5, covariates=["age"])
    >>> sgbn.group_network(cohort, "control", sgbn.SGBN()).network_
    GaussianNetwork(5 variables, 2 edges)
    """
    reviewed = review(cohort, rows_are_subjects=rows_are_subjects)
    usable = _require(reviewed)
    if str(group) not in usable.groups:  # labels of a cohort are text
        near = did_you_mean(group, usable.groups)
        raise InputError(f"no group is called {group!r}. {near}")
    flow, settings = flow_of(usable), Settings()
    prepared, _ = flow.prepare(usable, settings)
    return flow.network(flow.learner(learner, settings), prepared, str(group), Study(None, n_jobs))


def _require(reviewed: Review) -> Cohort:
    """Return the usable cohort, or raise InputError. One group is enough here."""
    if len(reviewed.cohort.groups) != 1:
        return reviewed.require()
    # Findings that only matter for a comparison of groups are ignored.
    for_pairs = tuple(check_groups(reviewed.cohort))
    relevant = tuple(finding for finding in reviewed.findings if finding not in for_pairs)
    return Review(relevant, reviewed.cohort).require()
