r"""A classifier that chooses sparsity, blend, radius and temperature by cross-validation.

A candidate is a setting of `sgbn.paper.classifier_cv` together with a share of the distance
of class means from the common mean. Candidate i has the mean log-loss :math:`\ell_i` on n rows
that it has not seen, at its best temperature :math:`\tau_i`. The networks of the classifier are
the mean of the candidates' networks, with the weights

.. math:: w_i \propto \tau_i \exp(-n \ell_i / 2).

With few rows, the log-losses of two candidates differ by less than their errors. The best candidate
may then be best by chance, and an average is better than a choice. A candidate whose likelihoods
contain little information has a low temperature, and so a low weight.

Networks of classes as sparse departures from a common network, along one order.

A search on the covariance S within classes finds the order. The class covariance :math:`S_c` is
blended with a share :math:`\rho` of S and a share :math:`\gamma` of the diagonal:

.. math:: S_c(\rho, \gamma) = (1 - \gamma) C + \gamma \, \mathrm{diag}(C), \qquad
          C = (1 - \rho) S_c + \rho S.

The common network is a lasso along the order on :math:`S(1, \gamma)`, at the price
:math:`\alpha / \sqrt n` per edge. The network of class c is a lasso on
:math:`S_c(\rho, \gamma)`, at the price :math:`2 \alpha \sigma_j s_k / \sqrt{n_c}` per *departure*
from the common weight of k -> j. Here :math:`\sigma_j` is the noise of the child in the common
network, :math:`s_k` is the standard deviation of the parent, n is the number of all rows, and
:math:`n_c` is the number of rows of the class. The difference of a class's log-variance from the
common log-variance shrinks by :math:`2 \alpha \sqrt{2 / n_c}`, and a smaller difference becomes 0.
So many weights and variances of two classes are exactly the same. Class means keep a share of their
distance from the common mean.

At :math:`\rho = 1` this is linear discriminant analysis, and at :math:`\rho = 0` it is quadratic
discriminant analysis. With :math:`\alpha = 0` it is the regularised form of Friedman (1989).

Lasso along an order, with a price on each departure from given weights.

Solve, for every variable j, with the variables before it as regressors,

.. math:: \min_d \tfrac12 (b + d)^T S (b + d) - s_j^T (b + d) + \sum_k w_{jk} |d_k|,
          \qquad d_k = 0 \text{ for } k \ge j,

where d are the departures, w their prices, b the given weights, S a covariance matrix with the
variables in the order, and s_j its row j. With b = 0 it is the plain lasso along the order.

As in `sgbn.learn.lasso`, a working set grows by the departures that violate the optimality (KKT)
conditions. When the signs of the departures are known, the normal equations give their values to
round-off.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import moments_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices
from sgbn.core.validation import NOT_NEGATIVE, PROBABILITY, ListOf, Number, Parameters
from sgbn.learn.classifier import (
    Learned,
    Priors,
    Scale,
    SGBNClassifier,
    best_temperature,
    check_class_sizes,
    log_likelihoods,
    posterior_scores,
    warn_about_classes,
)
from sgbn.learn.lasso import solve_on, violation_at
from sgbn.learn.search.orders import search_order
from sgbn.learn.search.plan import (
    MAX_TUCKS_QUICK,
    TUCK_DEPTH,
    ParentProblem,
    ebic_prices,
    most_parents,
)
from sgbn.learn.search.trees import make_trees
from sgbn.paper.mm_sgbn import CLSGBNClassifier

Numbers = Sequence[float] | Array
Sample = tuple[Array, NDArray[Any], list[str]]  # rows, their labels, and the names of the columns

REPEATS = 3  # number of splits into folds; several, so that the result depends less on one split
EVIDENCE = 0.5  # factor of the summed log-loss; below 1, because candidates err on the same rows
MIN_RELATIVE_WEIGHT = 1e-3  # share of the largest weight; lighter candidates are dropped
FIELDS = ("alpha", "pool", "ridge", "mean_share", "log_loss", "temperature", "weight")


class Fold(NamedTuple):
    """The rows of one fold, and the fit of every setting to its training rows.

    Covariances are not kept, because they would need most of the memory.
    """

    train: Indices
    test: Indices
    centres: ClassCentres
    weights: list[Weights]

    @classmethod
    def of(
        cls, moments: ClassMoments, settings: list[Setting], train: Indices, test: Indices
    ) -> Self:
        """Fit all settings to the moments of the training rows."""
        fitted = dict(moments.fits(settings))
        return cls(train, test, moments.centres, [fitted[k] for k in range(len(settings))])


class Candidates(NamedTuple):
    """The candidates, and their losses on rows that they have not seen.

    Each pair of a setting and a share is a candidate.

    Attributes
    ----------
    settings : list of Setting
        The settings: sparsity, pool and ridge.
    shares : list of float
        The shares of the distance of class means from the common mean.
    losses : ndarray of shape (settings, shares, n)
        The mean log-loss of each row over the repeats, at the temperature of the candidate.
    temperatures : ndarray of shape (settings, shares)
        The best temperature of each candidate.
    """

    settings: list[Setting]
    shares: list[float]
    losses: Array
    temperatures: Array

    def weights(self, rows: Indices) -> Array:
        """Compute the candidates' weights from their losses on these rows. They add up to 1."""
        total = EVIDENCE * self.losses[:, :, rows].sum(axis=2)
        total[~np.isfinite(total)] = np.inf  # a candidate without a finite loss gets no weight
        # The smallest total is subtracted, because the exponentials of large totals would all be 0.
        weights = self.temperatures * np.exp(total.min() - total)
        weights[weights < MIN_RELATIVE_WEIGHT * weights.max()] = 0.0
        shares: Array = weights / weights.sum()
        return shares


class _FromNetworks(CLSGBNClassifier):
    """A `CLSGBNClassifier` that starts from the standardised networks given as `learner`."""

    def _standardised_networks(self, *_: Any) -> dict[Any, GaussianNetwork]:
        return cast(dict[Any, GaussianNetwork], self.learner)


class SGBNClassifierCV(SGBNClassifier):
    """A classifier with one network per class and settings chosen by cross-validation.

    The networks are sparse departures from a common network: most edges are the same in all
    classes, and few differ. The log-loss on rows that the networks have not seen chooses the
    sparsity, the similarity, the ridge and the share of the difference in means. It is computed in
    five folds of the training rows, three times. Networks of several settings are averaged, with
    weights that depend on this loss. The temperature is fitted on the same rows, see Notes.

    Parameters
    ----------
    alphas : sequence of float
        The penalties to try for an edge of the common network, in standard errors of its weight.
        The penalty of a departure is twice as large.
    pools : sequence of float
        The shares to try of the pooled covariance in the covariance of each class. At 1, classes
        only differ in their means.
    ridges : sequence of float
        The shares to try of the diagonal in the covariances, from 0 to below 1.
    mean_shares : sequence of float
        The shares to try of the distance of class means from the common mean.
    slacks : sequence of float
        The values to try for `slack` of `CLSGBNClassifier`, which moves edge weights. At 0 they do
        not move. This is the default, because with sparse departures, moving edges raised the
        log-loss on all data that we tried. A larger value is chosen only if it lowers the log-loss
        by more than the standard error of the difference.
    priors : {"equal", "empirical"} or mapping of class to share
        The probabilities of the classes before the data are seen. They are equal by default,
        because the group sizes of a case-control study do not show how frequent a disease is.
    random_state : int
        The seed of the folds.

    Attributes
    ----------
    alpha_, pool_, ridge_, mean_share_ : float
        The weighted means of the settings over the candidates.
    slack_ : float
        The chosen value of `slacks`.
    candidates_ : structured ndarray
        One record per candidate: alpha, pool, ridge, mean_share, log_loss, temperature, weight.
    classes_, networks_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.

    Notes
    -----
    The networks are averages over many settings, made for prediction. They have more edges than the
    network of a single setting, and too many to interpret. The time grows fast with the number of
    regions: about 0.25 s for 80 rows of 40 regions, and 3.5 s for 120 rows of 200 regions
    (``benchmarks/classifiers.py --time``).

    If a class has fewer than four rows, there are no folds. All candidates then have the same
    weight.

    The folds are not nested. The temperature is fitted to the likelihoods of the test rows of each
    fold, under averaged networks. Neither these networks nor their weights in the average use the
    test rows directly. But the weights come from losses of networks that were trained on these
    rows, and the temperature of each candidate uses all rows. True nesting would compare all
    candidates again in every fold. On simulated cohorts without group differences, nesting would
    have changed the log-loss by about 0.005.

    The folds, and so the result, depend on `random_state`. This matters in small samples:
    probabilities changed by up to 0.19 with other folds. Fit with several values of `random_state`
    to see how much your probabilities change.

    Examples
    --------
    >>> from sgbn import SGBNClassifierCV, simulate_cohort
    >>> cohort = simulate_cohort(60, regions=10)
    >>> classifier = SGBNClassifierCV().fit(cohort.values, cohort.group)
    >>> bool(classifier.score(cohort.values, cohort.group) > 0.6)
    True
    """

    _parameters: ClassVar[Parameters] = {
        "alphas": ListOf(NOT_NEGATIVE),
        "pools": ListOf(PROBABILITY),
        "ridges": ListOf(Number(least=0, below=1)),
        "mean_shares": ListOf(PROBABILITY),
        "slacks": ListOf(NOT_NEGATIVE),
    }

    def __init__(
        self,
        *,
        alphas: Numbers = (0.35, 0.7, 1.0),
        pools: Numbers = (0.0, 0.5, 1.0),
        ridges: Numbers = (0.0, 0.2),
        mean_shares: Numbers = (0.1, 1.0),
        slacks: Numbers = (0.0,),
        priors: Priors = "equal",
        random_state: int = 0,
    ) -> None:
        super().__init__(priors=priors, random_state=random_state)
        self.alphas = alphas
        self.pools = pools
        self.ridges = ridges
        self.mean_shares = mean_shares
        self.slacks = slacks

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Learned:
        codes = np.searchsorted(self.classes_, labels)
        every = np.arange(len(codes))
        settings = [Setting(*numbers) for numbers in product(self.alphas, self.pools, self.ridges)]
        moments = ClassMoments.of(values, codes, self.classes_.tolist(), names)
        Z = moments.centres.scale.standardise(values)
        warn_about_classes(Z, labels, min(self.pools), names)
        folds = self._folds(values, codes, names, settings)
        candidates = self._compare(folds, settings, values, codes)
        sample = values, labels, names
        with warnings.catch_warnings():
            # The fits in folds only choose the radius. Only the final fit to all rows may warn.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.slack_, self._temperature = self._choose_move(folds, candidates, sample)
        whole = Fold.of(moments, settings, every, every)
        networks = self._networks(whole, candidates, self.slack_, sample)
        self._record(candidates, candidates.weights(every))
        return Learned(networks)

    def _fit_temperature(self, values: Array, labels: NDArray[Any], names: list[str]) -> float:  # noqa: ARG002
        return self._temperature

    def _folds(
        self, values: Array, codes: Indices, names: list[str], settings: list[Setting]
    ) -> list[Fold]:
        """Fit all settings in every fold of every repeat. Return [] if a class is too small."""
        n_folds = self._design.usual_folds
        if not n_folds:
            return []
        folds = self._design.folds(n_folds, self.random_state, REPEATS)
        classes = self.classes_.tolist()
        fitted = []
        try:
            for train, test in folds:
                moments = ClassMoments.of(values[train], codes[train], classes, names)
                fitted.append(Fold.of(moments, settings, train, test))
        except InputError as error:  # such as a region that is constant in a fold
            raise InputError("fold.unlearned", cause=error).says(
                "in a fold of the training rows, {cause}"
            ) from error
        return fitted

    def _compare(
        self, folds: list[Fold], settings: list[Setting], values: Array, codes: Indices
    ) -> Candidates:
        """Compute the loss of every candidate on rows that it has not seen."""
        shares = list(map(float, self.mean_shares))
        temperatures = np.ones((len(settings), len(shares)))
        losses = np.zeros((*temperatures.shape, len(codes)))
        unseen = [  # log-likelihoods of test rows, by fold and setting
            [fold.centres.log_likelihoods(each, shares, values[fold.test]) for each in fold.weights]
            for fold in folds
        ]
        # Without folds all losses stay 0. All candidates then get the same weight.
        for i, k in np.ndindex(temperatures.shape) if folds else ():
            likelihoods = [of_fold[i][k] for of_fold in unseen]
            temperatures[i, k], losses[i, k] = self._loss(folds, likelihoods, codes)
        return Candidates(settings, shares, losses, temperatures)

    def _loss(self, folds: list[Fold], unseen: list[Array], codes: Indices) -> tuple[float, Array]:
        """Return the best temperature for unseen log-likelihoods, and the loss of every row."""
        rows = np.concatenate([fold.test for fold in folds])
        likelihoods = np.vstack(unseen)
        temperature = best_temperature(likelihoods, codes[rows], self.priors_)
        scores = posterior_scores(likelihoods, temperature, self.priors_)
        losses = -log_softmax(scores, axis=1)[np.arange(len(rows)), codes[rows]]
        return temperature, np.bincount(rows, losses) / REPEATS  # each repeat tests every row once

    def _record(self, candidates: Candidates, weights: Array) -> None:
        """Set `candidates_`, and the weighted means of the settings over the candidates."""
        settings, shares, losses, temperatures = candidates
        means = losses.mean(axis=2)
        rows = [
            (*setting, share, means[i, k], temperatures[i, k], weights[i, k])
            for (i, setting), (k, share) in product(enumerate(settings), enumerate(shares))
        ]
        self.candidates_ = np.array(rows, dtype=[(field, float) for field in FIELDS])
        for field in FIELDS[:4]:
            setattr(self, f"{field}_", float(self.candidates_["weight"] @ self.candidates_[field]))

    def _choose_move(
        self, folds: list[Fold], candidates: Candidates, sample: Sample
    ) -> tuple[float, float]:
        """Return the best radius and its temperature.

        A larger radius must lower the loss by more than the standard error of the difference.
        """
        radii = sorted(map(float, self.slacks))
        if not folds:
            return radii[0], 1.0
        values, labels, _ = sample
        codes = np.searchsorted(self.classes_, labels)
        best, least = (radii[0], 1.0), np.full(len(codes), np.inf)
        for slack in radii:
            unseen = [
                log_likelihoods(self._networks(fold, candidates, slack, sample), values[fold.test])
                for fold in folds
            ]
            temperature, losses = self._loss(folds, unseen, codes)
            gain = least - losses
            # The first radius has nothing to compare with: its gain is infinite.
            if slack == radii[0] or gain.mean() > gain.std() / np.sqrt(len(gain)):
                best, least = (slack, temperature), losses
        return best

    def _networks(
        self, fold: Fold, candidates: Candidates, slack: float, sample: Sample
    ) -> dict[Any, GaussianNetwork]:
        """Return the weighted mean of the candidates' networks in a fold.

        The weights only depend on the losses of the training rows of the fold. If `slack` is above
        0, the edge weights of the mean are then moved.
        """
        centres, rows = fold.centres, fold.train
        values, labels, names = sample
        # Edge weights and noise depend on the setting only, and class means on the share only. So
        # the first mean needs only the row sums of the weights, and the second the column sums.
        weights = candidates.weights(rows)
        mean = mean_weights(fold.weights, weights.sum(axis=1))
        if mean.violation > TOL:
            Problem("weights.not-optimal", error=mean.violation, least=TOL).warn(
                "the edge weights are {error:.1e} from their optimum (tolerance {least:g})",
                "Give {alphas=} or {ridges=} above 0.",
                ConvergenceWarning,
            )
        mean_share = float(weights.sum(axis=0) @ candidates.shares)
        class_networks = centres.networks(mean, mean_share, names)
        networks = dict(zip(self.classes_.tolist(), class_networks, strict=True))
        if slack == 0:
            return {label: centres.scale.in_units(network) for label, network in networks.items()}
        sharpness = float((weights * candidates.temperatures).sum())
        # `_learn` instead of `fit`: rows and labels are checked, and no temperature is needed.
        moving = _FromNetworks(cast(Any, networks), slack=slack, sharpness=sharpness)
        moving.classes_, moving.priors_ = self.classes_, self.priors_
        return moving._learn(values[rows], labels[rows], names).networks


DEPARTURE_PRICE = 2.0  # price of a departure, relative to an edge of the common network
# Sparsity of the search for the order. At 0, which is the plain BIC, the search takes ten times as
# long with 173 regions, and the log-loss of benchmarks/classifiers.py is not lower.
ORDER_GAMMA = 0.5
MIN_NOISE_SHARE = 1e-3  # least noise variance, as a share of the variance or of the common noise


class Setting(NamedTuple):
    """One setting of the family of networks, with the letters at the top of this file.

    Attributes
    ----------
    alpha : float
        The price of an edge, in standard errors of its weight.
    pool : float
        The share rho of the pooled covariance.
    ridge : float
        The share gamma of the diagonal.
    """

    alpha: float
    pool: float
    ridge: float


class Weights(NamedTuple):
    """The weights and noise variances of all classes, with the variables sorted by the order.

    Only weights that are not zero are stored, so that the fits of all folds fit in memory.

    Attributes
    ----------
    places : ndarray of shape (k,)
        The places j m + i in the flattened matrices at which a class has a weight of i -> j.
    values : ndarray of shape (classes, k)
        The weights at these places.
    variances : ndarray of shape (classes, m)
        The noise variance of each variable.
    violation : float
        The largest violation of the optimality (KKT) conditions.
    """

    places: Indices
    values: Array
    variances: Array
    violation: float

    @classmethod
    def of(cls, B: Array, variances: Array, violation: float) -> Self:
        """Make the object from matrices of shape (classes, m, m), with one row per child."""
        rows = B.reshape(len(B), -1)
        places = np.flatnonzero(rows.any(axis=0))
        return cls(places, rows[:, places], variances, violation)

    @property
    def matrices(self) -> Array:
        """Return the weights as matrices of shape (classes, m, m), with one row per child."""
        n_classes, m = self.variances.shape
        rows = np.zeros((n_classes, m * m))
        rows[:, self.places] = self.values
        return rows.reshape(n_classes, m, m)


class _Common(NamedTuple):
    """The network that classes depart from, with the variables sorted by the order.

    Attributes
    ----------
    B : ndarray of shape (m, m)
        The weights, with one row per child.
    variances : ndarray of shape (m,)
        The noise variance of each region.
    scale : ndarray of shape (m,)
        The variance of each region itself.
    violation : float
        The largest violation of the optimality (KKT) conditions.
    """

    B: Array
    variances: Array
    scale: Array
    violation: float

    def weights(self, n_classes: int) -> Weights:
        """Return weights in which every class has this network."""
        copies = np.tile(self.B, (n_classes, 1, 1)), np.tile(self.variances, (n_classes, 1))
        return Weights.of(*copies, self.violation)


@dataclass(frozen=True)
class ClassCentres:
    """The order and the class means: all that the networks need in addition to their weights.

    Attributes
    ----------
    scale : Scale
        The means and standard deviations of all rows, in the units of the data.
    order : ndarray of shape (m,)
        The columns of the data, sorted by the order of the common network.
    sizes : ndarray of shape (classes,)
        The number of rows of each class.
    means : ndarray of shape (classes, m)
        The mean of each class, in standardised units and with the variables sorted by the order.
    """

    scale: Scale
    order: Indices
    sizes: Array
    means: Array

    @property
    def centre(self) -> Array:
        """Return the mean of all rows."""
        centre: Array = self.sizes @ self.means / self.sizes.sum()
        return centre

    def log_likelihoods(self, weights: Weights, shares: Sequence[float], values: Array) -> Array:
        """Compute the log-likelihoods of rows in the units of the data, up to a constant.

        Parameters
        ----------
        weights : Weights
            The weights and noise variances of the classes.
        shares : sequence of float
            The shares of the distance of class means from the common mean.
        values : ndarray of shape (n, m)
            The rows, in the units of the data.

        Returns
        -------
        ndarray of shape (shares, n, classes)
        """
        Z = np.ascontiguousarray(self.scale.standardise(values)[:, self.order])
        # Residuals are linear in a share t: R - t moved. So their squares are a parabola in t, and
        # all shares together need only one product with B.
        U, t = Z - self.centre, np.array(shares)[:, None]
        likelihoods = np.empty((len(t), len(Z), len(self.sizes)))
        parts = zip(self.means - self.centre, weights.matrices, weights.variances, strict=True)
        for c, (shift, B, variances) in enumerate(parts):
            R, moved = U - U @ B.T, shift - B @ shift
            constant = np.square(R) @ (1 / variances) + np.log(variances).sum()
            slope, bend = R @ (moved / variances), np.square(moved) @ (1 / variances)
            likelihoods[:, :, c] = -(constant - 2 * t * slope + t**2 * bend) / 2
        return likelihoods

    def networks(self, weights: Weights, share: float, names: list[str]) -> list[GaussianNetwork]:
        """Return the network of every class, in standard deviations of all rows.

        Class means keep the given share of their distance from the common mean.
        """
        place = np.argsort(self.order)
        networks, means = [], self.centre + share * (self.means - self.centre)
        for mean, B, variances in zip(means, weights.matrices, weights.variances, strict=True):
            coef = B[np.ix_(place, place)].T
            intercept = (mean - B @ mean)[place]
            networks.append(GaussianNetwork(coef, intercept, variances[place], names))
        return networks


@dataclass(frozen=True)
class ClassMoments:
    """The centres and covariances of classes: all that the fits use of the rows.

    Attributes
    ----------
    centres : ClassCentres
        The order and the class means.
    covariances : ndarray of shape (classes, m, m)
        The covariance of each class, with the variables sorted by the order.
    """

    centres: ClassCentres
    covariances: Array

    @classmethod
    def of(cls, values: Array, codes: Indices, classes: Sequence[Any], names: list[str]) -> Self:
        """Compute the moments of rows in any units. `codes` numbers their classes from 0."""
        sizes = np.bincount(codes, minlength=len(classes))
        check_class_sizes(classes, sizes)
        scale = Scale.of(values)
        Z = scale.standardise(values)
        centred = Z - _class_means(Z, codes, len(classes))[codes]
        order = common_order(centred, names)
        # Indexing by columns gives arrays in column order, but the rows are read below.
        Z, centred = (np.ascontiguousarray(rows[:, order]) for rows in (Z, centred))
        class_rows = [centred[codes == c] for c in range(len(classes))]
        covariances = np.array([rows.T @ rows / len(rows) for rows in class_rows])
        means = _class_means(Z, codes, len(classes))
        return cls(ClassCentres(scale, order, sizes.astype(float), means), covariances)

    @property
    def sizes(self) -> Array:
        """Return the number of rows of each class."""
        return self.centres.sizes

    @property
    def pooled(self) -> Array:
        """Return the covariance within classes."""
        shares = self.sizes / self.sizes.sum()
        pooled: Array = np.tensordot(shares, self.covariances, 1)
        return pooled

    def fits(self, settings: Sequence[Setting]) -> Iterator[tuple[int, Weights]]:
        """Yield the index of each setting and its weights, from the highest to the lowest price.

        The fit at a price starts from the fit at the next higher price, if pool and ridge are the
        same. Settings that differ only in the pool share the common network.
        """
        common: dict[tuple[float, float], _Common] = {}  # by price and ridge
        last: dict[tuple[float, float], Array] = {}  # departures at the last price, by pool, ridge
        for number in sorted(range(len(settings)), key=lambda k: -settings[k].alpha):
            alpha, pool, ridge = settings[number]
            # A warm start: the sparser network of the next higher price at the same ridge.
            if (alpha, ridge) not in common:
                higher = [key for key in common if key[1] == ridge]
                start = common[min(higher)].B if higher else None
                common[alpha, ridge] = self._common(alpha, ridge, start)
            base = common[alpha, ridge]
            if pool == 1:  # every class has the pooled covariance, so no class can depart
                yield number, base.weights(len(self.sizes))
                continue
            first = last.get((pool, ridge))
            fitted, last[pool, ridge] = self._depart(base, settings[number], first)
            yield number, fitted

    def _common(self, alpha: float, ridge: float, start: Array | None) -> _Common:
        """Fit the common network to the covariance within classes."""
        S = _ridged(self.pooled, ridge)
        prices = np.full(S.shape, alpha / np.sqrt(self.sizes.sum()))
        result = lasso_departures(S, prices, np.zeros(S.shape), start)
        # Without this limit, one region that is predicted almost exactly would decide the class.
        variances = np.maximum(result.variances, MIN_NOISE_SHARE * np.diag(S))
        return _Common(result.x, variances, np.diag(S).copy(), result.violation)

    def _depart(
        self, common: _Common, setting: Setting, start: Array | None
    ) -> tuple[Weights, Array]:
        """Return the weights and variances of every class, and the departures of the weights."""
        alpha, pool, ridge = setting
        pooled, variances, departures = self.pooled, [], []
        violation = common.violation
        # Row j, column i is the noise of child j times the standard deviation of parent i.
        price = DEPARTURE_PRICE * alpha * np.sqrt(np.outer(common.variances, common.scale))
        for c, (size, covariance) in enumerate(zip(self.sizes, self.covariances, strict=True)):
            blend = _ridged((1 - pool) * covariance + pool * pooled, ridge)
            first = None if start is None else start[c]
            result = lasso_departures(blend, price / np.sqrt(size), common.B, first)
            departures.append(result.x)
            violation = max(violation, result.violation)
            ratio = np.log(np.maximum(result.variances / common.variances, MIN_NOISE_SHARE))
            # A soft threshold: sqrt(2 / n) is the standard error of a log-variance of n rows.
            threshold = DEPARTURE_PRICE * alpha * np.sqrt(2 / size)
            change = np.sign(ratio) * np.maximum(np.abs(ratio) - threshold, 0.0)
            variances.append(common.variances * np.exp(change))
        D = np.array(departures)
        return Weights.of(common.B + D, np.array(variances), violation), D


def mean_weights(parts: Sequence[Weights], shares: Array) -> Weights:
    """Average weights and log-variances, with shares that add up to 1.

    All weights follow one order, so the mean is a DAG.
    """
    n_classes, m = parts[0].variances.shape
    B, logs, violation = np.zeros((n_classes, m * m)), np.zeros((n_classes, m)), 0.0
    for part, share in zip(parts, shares, strict=True):
        if share > 0:
            B[:, part.places] += share * part.values
            logs += share * np.log(part.variances)
            violation = max(violation, part.violation)
    return Weights.of(B.reshape(n_classes, m, m), np.exp(logs), violation)


def common_order(centred: Array, names: list[str]) -> Indices:
    """Return the columns in the order of a network of the rows minus their class means.

    The order does not depend on the units or on the order of the columns. The sparsity of the
    network has little effect on it, and a sparse network is found fast.
    """
    moments = moments_of(centred, names)
    n, m = moments.n, moments.m
    every, none = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    price = ebic_prices(n, m, ORDER_GAMMA)
    trees = make_trees(ParentProblem(moments.R, n, price, most_parents(n, m), every, none))
    # Only kicks (random changes of the order) need random numbers, and this search makes none.
    rng = np.random.RandomState(0)
    result = search_order(trees, [np.arange(m)], 0, rng, TUCK_DEPTH, MAX_TUCKS_QUICK)
    return moments.columns[result.order]


def _class_means(Z: Array, codes: Indices, n_classes: int) -> Array:
    return np.array([Z[codes == c].mean(axis=0) for c in range(n_classes)])


def _ridged(S: Array, share: float) -> Array:
    ridged = (1 - share) * S
    np.fill_diagonal(ridged, np.diag(S))
    return ridged


TOL = 1e-8  # KKT violation, on variables of about unit scale
MAX_EPOCHS = 500  # passes per variable; reached only if columns are nearly collinear
EMPTY_VARIANCE = 1e-12  # below it a regressor is constant, on variables of about unit scale


class Departures(NamedTuple):
    """The departures from given weights, and the residual variances that follow.

    Attributes
    ----------
    x : ndarray of shape (m, m)
        ``x[j, k]`` is added to the weight of k -> j.
    variances : ndarray of shape (m,)
        Residual variance of each variable, given its weights with the departures.
    n_iter : int
        Largest number of epochs (passes over the working set) of a variable.
    violation : float
        Largest violation of the KKT conditions.
    converged : bool
        Whether `violation` is within the tolerance.
    """

    x: Array
    variances: Array
    n_iter: int
    violation: float
    converged: bool


@jit_inside
def _gradient(S, j, b, d, g):  # type: ignore[no-untyped-def]
    """Set the first j entries of `g` to S (b + d) - s_j."""
    for k in range(j):
        g[k] = -S[j, k]
    for h in range(j):
        weight = b[h] + d[h]
        if weight != 0.0:
            for k in range(j):
                g[k] += weight * S[h, k]


@jit
def _solve_variable(S, j, w, b, d, g, working):  # type: ignore[no-untyped-def]
    """Find the departures `d` of variable j; return the number of epochs and the violation.

    `d` is the start, and holds the solution afterwards. `g` becomes the gradient at `d`. `working`
    is work space.
    """
    n_epochs = 0
    while True:
        _gradient(S, j, b, d, g)
        size, worst = 0, 0.0
        for k in range(j):
            violation = violation_at(g, w, d, k)
            # A constant regressor has no departure, and its equation would be singular.
            if S[k, k] > EMPTY_VARIANCE and (d[k] != 0.0 or violation > TOL):
                worst = max(worst, violation)
                working[size] = k
                size += 1
        if worst <= TOL or n_epochs >= MAX_EPOCHS:
            return n_epochs, worst
        places, c = working[:size], np.empty(size)
        for i in range(size):
            # The right side c must make S d - c the gradient on the working set.
            c[i] = -g[places[i]]
            for h in range(size):
                c[i] += S[places[i], places[h]] * d[places[h]]
        n_epochs += solve_on(S, places, c, w, d, 0.1 * TOL, MAX_EPOCHS - n_epochs)


@jit
def _solve(S, W, B, D, variances):  # type: ignore[no-untyped-def]
    """Solve `D` in place, and set `variances`.

    Return the largest number of epochs and the largest violation of a variable.
    """
    m = S.shape[0]
    g, working = np.empty(m), np.empty(m, np.int64)
    most_epochs, worst = 0, 0.0
    for j in range(m):
        n_epochs, violation = _solve_variable(S, j, W[j], B[j], D[j], g, working)
        most_epochs, worst = max(most_epochs, n_epochs), max(worst, violation)
        # The variance is s_jj - 2 s_j'b + b'S b for the weights b, and S b = g + s_j.
        total = S[j, j]
        for k in range(j):
            total += (B[j, k] + D[j, k]) * (g[k] - S[j, k])
        variances[j] = total
    return most_epochs, worst


def lasso_departures(S: Array, W: Array, B: Array, start: Array | None = None) -> Departures:
    """Return the departures from the weights `B` that solve the lasso along the order.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix in C order, with the variables in the order of the network.
    W : ndarray of shape (m, m)
        ``W[j, k]`` is the price of a departure of the weight of k -> j.
    B : ndarray of shape (m, m)
        The given weights; ``B[j, k]`` is the weight of k -> j. Strictly lower triangular.
    start : ndarray of shape (m, m), optional
        Departures to start from, for example the solution at a higher price. Zero by default.
    """
    D = np.zeros(S.shape) if start is None else start.copy()
    variances = np.empty(len(S))
    n_epochs, violation = _solve(S, W, B, D, variances)
    return Departures(D, variances, n_epochs, violation, violation <= TOL)
