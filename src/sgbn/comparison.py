"""The main job: one network a group, from a cohort to tables and pictures."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.discriminative.class_networks import default_learner
from sgbn.exceptions import InputError, listed
from sgbn.io import cohort_table, edge_table
from sgbn.moments import constant_columns
from sgbn.preprocessing import make_preparation
from sgbn.quality import Review, review
from sgbn.runs import parallel, versions, write_atomically, write_json
from sgbn.structure.base import NetworkEstimator
from sgbn.viz import plot_matrix

INCHES_A_REGION = 0.1  # of a matrix: the names of neighbouring regions do not touch
SMALLEST_FIGURE = 6.0  # inches
ABOUT = "about.json"


@dataclass(frozen=True)
class Comparison:
    """Networks of the groups of a cohort.

    Attributes
    ----------
    review : Review
        What was found in the cohort; `review.cohort` is the part that was used.
    regions : DataFrame
        What the networks were learned from: imputed, harmonised, covariates regressed out.
    learners : mapping of group to fitted learner
    """

    review: Review
    regions: pd.DataFrame
    learners: Mapping[str, NetworkEstimator]

    @property
    def cohort(self) -> Cohort:
        """The subjects and regions that were used."""
        return self.review.cohort


def compare(
    cohort: Cohort, *, learner: NetworkEstimator | None = None, n_jobs: int | None = None
) -> Comparison:
    """Learn one network a group.

    Missing cells are imputed, sites harmonised and covariates regressed out over all subjects
    (nothing is predicted here). Slopes of covariates are those within the groups, so that no
    difference between the groups is taken for an effect of age.

    Parameters
    ----------
    cohort : Cohort
        With two or more groups.
    learner : estimator, optional
        Any learner of sgbn; by default `SGBN` with one gamma for all groups, that of the largest.
    n_jobs : int, optional
        Processes. Results do not depend on it.
    """
    reviewed = review(cohort)
    regions = prepare(reviewed)
    usable = reviewed.cohort
    if learner is None:
        learner = default_learner(np.asarray(usable.group))
    parts = [regions[usable.group == group] for group in usable.groups]
    fitted = parallel(lambda part: clone(learner).fit(part), parts, n_jobs)
    return Comparison(reviewed, regions, dict(zip(usable.groups, fitted, strict=True)))


def prepare(reviewed: Review) -> pd.DataFrame:
    """Make the regions that the networks of a reviewed cohort are learned from.

    Raises
    ------
    InputError
        If the groups cannot be compared.
    """
    usable = reviewed.require()
    table = cohort_table(usable)
    regions = make_preparation(usable).fit_transform(table, usable.group)
    for group in usable.groups:
        rows = usable.group == group
        constant = regions.columns[constant_columns(regions[rows].to_numpy())]
        if len(constant):
            raise InputError(
                f"nothing is left of {listed(list(constant))} in the group {group!r} once sites "
                "and covariates are taken out. Exclude these regions, or name fewer covariates."
            )
    return regions


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a table of edges and a matrix a group, and what they were made with.

    Returns
    -------
    list of Path
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    written = []
    limit = max(float(np.abs(fit.coef_std_).max()) for fit in comparison.learners.values())
    names = file_names(comparison.learners)
    for group, learner in comparison.learners.items():
        path = folder / f"edges_{names[group]}.csv"
        write_atomically(path, partial(edge_table(learner).to_csv, index=False))
        picture = folder / f"network_{names[group]}.png"
        figure = _matrix(comparison.cohort, group, learner, limit)
        write_atomically(picture, partial(figure.savefig, dpi=200, format="png"))
        written += [path, picture]
    about = folder / ABOUT
    write_json(about, _about(comparison) | {"files": [path.name for path in written]})
    return [*written, about]


def _clear(folder: Path) -> None:
    """Take away what an earlier comparison of other groups wrote to the same folder."""
    about = folder / ABOUT
    if about.exists():
        try:
            names = json.loads(about.read_text()).get("files", [])
        except (ValueError, AttributeError):
            return  # not ours
        for name in names:
            if Path(name).name == name:
                (folder / name).unlink(missing_ok=True)


def _about(comparison: Comparison) -> dict[str, object]:
    cohort = comparison.cohort
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "data": dict(cohort.provenance),
        "sites": 0 if cohort.site is None else len(np.unique(cohort.site)),
        "groups": cohort.sizes,
        "regions": list(cohort.regions),
        "covariates": list(cohort.covariates),
        "findings": [str(finding) for finding in comparison.review.findings],
        "learner": repr(next(iter(comparison.learners.values()))),
        "versions": versions(),
    }


def _matrix(cohort: Cohort, group: str, learner: NetworkEstimator, limit: float) -> Figure:
    side = max(SMALLEST_FIGURE, INCHES_A_REGION * len(cohort.regions))
    figure = Figure(figsize=(side + 1, side), layout="constrained")
    ax = figure.subplots()
    n_edges = np.count_nonzero(learner.coef_)
    title = f"{group}: {cohort.sizes[group]} subjects, {n_edges} edges"
    plot_matrix(ax, learner.coef_std_, cohort.regions, cohort.lobes, limit=limit, title=title)
    figure.colorbar(ax.images[0], ax=ax, shrink=0.5, label="weight per standard deviation")
    return figure


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Group -> a name that is safe in a file name; no two are the same, whatever the case."""
    names: dict[str, str] = {}
    for group in groups:
        safe = name = re.sub(r"[^A-Za-z0-9-]+", "_", group).strip("_") or "group"
        number = 2
        while name.lower() in (taken.lower() for taken in names.values()):
            name, number = f"{safe}_{number}", number + 1
        names[group] = name
    return names
