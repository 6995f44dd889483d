"""Real tables without a difference between groups, and with planted differences.

The rows of ABIDE and IXI are read as users read them, with covariates and sites. Labels are
shuffled within sites, or two halves of one group are compared, unchanged or disturbed. A planted
difference makes the child of an edge follow its parent less in one half.
"""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np

from sgbn.core.problems import DataWarning
from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import data_folder, read_neuro

from .cohorts import Pair
from .peers import discoveries
from .power import oracle_z
from .score import against_truth, quiet, score_tests

ABIDE, IXI, CONTROLS = "abide1_asd", "ixi_age", "CTR"
SCALE = 2.0  # factor of the deviations of half of the regions from their means, or of their noise
# Share of rows and of regions that are thinner, and by how many standard deviations.
MOTION_SHARE, MOTION_REGIONS, MOTION_SD = 0.02, 0.5, 4.0
UNEQUAL = (30, 150)
N_PLANTED = 8
PLANTED = 0.4  # standard deviations of the child per standard deviation of the parent
DESIGNS = {
    "ABIDE, labels shuffled within sites": "shuffled",
    "IXI, halves of one group": "halves",
    "ABIDE controls, scale x 2 in half of the regions": "scale",
    "ABIDE controls, noise x 2 in half of the regions": "noise",
    "ABIDE controls, 2 % motion-like rows": "motion",
    "ABIDE controls, 30 v 150": "unequal",
}


@cache
def table(name):
    """Read one of the real tables, without subjects whose covariates are missing."""
    cohort = read_neuro(data_folder(), name)
    numbers = [np.asarray(x) for x in cohort.covariates.values() if x.dtype.kind == "f"]
    return cohort.subset(~np.isnan(numbers).any(axis=0))


def residuals(cohort):
    """Return the regions without the linear effects of covariates and sites."""
    # Means of the groups are not removed, because labels are shuffled or drawn.
    return replace(cohort.design, group=None).nuisance().residuals(cohort.values)


def shuffled(rng):
    """Return ABIDE with its labels shuffled within sites."""
    cohort = table(ABIDE)
    group = np.array(cohort.group)
    for site in np.unique(cohort.site):
        at_site = np.flatnonzero(cohort.site == site)
        # Labels are shuffled within a site, so that they are not confounded with sites.
        group[at_site] = group[rng.permutation(at_site)]
    return cohort, (group == CONTROLS).astype(int)


def halves(rng):
    """Return two random halves of one group of IXI."""
    cohort = table(IXI)
    cohort = cohort.subset(groups=[rng.choice(cohort.groups)])
    return cohort, cohort.design.deal(rng, balanced=())


def halves_of_controls(rng):
    """Return two halves of the controls of ABIDE, balanced over sites."""
    cohort = table(ABIDE).subset(groups=[CONTROLS])
    return cohort, cohort.design.deal(rng)


def noise(rng):
    """Return halves of controls. In the second half, half of the regions have more noise.

    The noise of a region is its residual in the network of all controls. All weights stay the same.
    """
    cohort, codes = halves_of_controls(rng)
    rest, sd = residuals(cohort), _control_sd()
    coef = strong_edges()[0]
    # Rows times (I - B) are the noise of each region. The added noise acts along all paths.
    added = rest / sd @ (np.eye(len(coef)) - coef) * (half_of(len(coef), rng) * (SCALE - 1))
    more = added @ np.linalg.inv(np.eye(len(coef)) - coef) * sd
    return replace(cohort, values=cohort.values + (codes == 1)[:, None] * more), codes


def scale(rng):
    """Return halves of controls. In the second half, half of the regions vary more."""
    cohort, codes = halves_of_controls(rng)
    more = residuals(cohort) * (half_of(len(cohort.regions), rng) * (SCALE - 1))
    return replace(cohort, values=cohort.values + (codes == 1)[:, None] * more), codes


def half_of(m, rng):
    """Mark a random half of the regions."""
    return rng.permutation(m) < m // 2


def motion(rng):
    """Return halves of controls. In 2 % of the second half's rows, some regions are thinner."""
    cohort, codes = halves_of_controls(rng)
    second = rng.permutation(np.flatnonzero(codes == 1))
    bad = second[: round(MOTION_SHARE * len(second))]
    values, sd = cohort.values.copy(), residuals(cohort).std(axis=0)
    # Motion makes the cortex look thinner.
    values[bad] -= MOTION_SD * sd * (rng.random((len(bad), len(sd))) < MOTION_REGIONS)
    return replace(cohort, values=values), codes


def unequal(rng):
    """Return two groups of 30 and 150 controls."""
    cohort = table(ABIDE).subset(groups=[CONTROLS])
    rows = rng.permutation(len(cohort.ids))[: sum(UNEQUAL)]
    return cohort.subset(rows), np.repeat([0, 1], UNEQUAL)


DRAWS = {
    "shuffled": shuffled,
    "halves": halves,
    "scale": scale,
    "noise": noise,
    "motion": motion,
    "unequal": unequal,
}


def pair_of(cohort, codes, cohort_number, changed=None):
    """Return rows in the form that the scores need. Their population is not known."""
    m = len(cohort.regions)
    changed = np.zeros((m, m), bool) if changed is None else changed
    options = {"groups": codes}
    # There are no networks, because the weights of the population are unknown in real tables.
    return Pair(cohort.values, codes, (), changed, options, cohort_number, known=False)


def score_real(design, cohort, seed):
    """Score one shuffle or split."""
    rows, codes = DRAWS[design](np.random.default_rng([seed, cohort]))
    return quiet(lambda: score_tests(pair_of(rows, codes, cohort), rows))


@cache
def _control_sd():
    return residuals(table(ABIDE).subset(groups=[CONTROLS])).std(axis=0)


@cache
def strong_edges():
    """Return the standardised network of all controls, and the edges to change.

    These are its strongest edges into regions without children, so that no other regression
    changes. Each region is the child of at most one of them.
    """
    rest = residuals(table(ABIDE).subset(groups=[CONTROLS]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        coef = SGBN(n_kicks=0).fit(rest / _control_sd()).coef_
    return coef, chosen_edges(coef)


def chosen_edges(coef):
    """Mark the strongest edge into each region without children, at most N_PLANTED edges."""
    # Leaves have parents, but no children.
    leaves = np.flatnonzero(~(coef != 0).any(axis=1) & (coef != 0).any(axis=0))
    edges = [(np.abs(coef[:, j]).argmax(), j) for j in leaves]
    edges = sorted(edges, key=lambda edge: -abs(coef[edge]))[:N_PLANTED]
    chosen = np.zeros(coef.shape, bool)
    chosen[tuple(np.transpose(edges))] = True
    return chosen


def plant(values, rest, coef, chosen):
    """Let each chosen child follow its parent less, by PLANTED per standard deviation."""
    sd, planted = rest.std(axis=0), values.copy()
    for i, j in np.argwhere(chosen):
        # The change is in the units of the table.
        planted[:, j] -= np.sign(coef[i, j]) * PLANTED * sd[j] / sd[i] * rest[:, i]
    return planted


def score_planted(design, cohort, seed):
    """Score the tests and an oracle on one split of controls with changes in the second half."""
    del design
    rows, codes = halves_of_controls(np.random.default_rng([seed, cohort]))
    return quiet(lambda: planted_figures(rows, codes, cohort))


def planted_figures(rows, codes, cohort):
    """Return the figures of the tests, and of an oracle with the parents of all controls."""
    coef, chosen = strong_edges()
    planted = plant(rows.values, residuals(rows), coef, chosen)
    rows = replace(rows, values=np.where((codes == 1)[:, None], planted, rows.values))
    pair = pair_of(rows, codes, cohort, chosen)
    scores, rest = score_tests(pair, rows), residuals(rows)
    z = oracle_z([rest[codes == c] for c in (0, 1)], coef != 0, robust=True)
    return scores | {"oracle, HC3": against_truth(pair, discoveries(z, coef != 0))}
