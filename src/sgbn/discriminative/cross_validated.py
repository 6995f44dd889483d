r"""A classifier that chooses sparsity, blend, radius and temperature by cross-validation.

A candidate is a setting of `sgbn.discriminative.departures` together with a share of the distance
of class means from the common mean. Candidate i has the mean log-loss :math:`\ell_i` on n rows
that it has not seen, at its best temperature :math:`\tau_i`. The networks of the classifier are
the mean of the candidates' networks, with the weights

.. math:: w_i \propto \tau_i \exp(-n \ell_i / 2).

With few rows, the log-losses of two candidates differ by less than their errors. The best candidate
may then be best by chance, and an average is better than a choice. A candidate whose likelihoods
contain little information has a low temperature, and so a low weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from sgbn.cohort.design import count_folds, inner_folds
from sgbn.core.exceptions import InputError, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices
from sgbn.core.validation import NOT_NEGATIVE, PROBABILITY, ListOf, Number, Parameters
from sgbn.discriminative.cl_sgbn import CLSGBNClassifier
from sgbn.discriminative.departures import (
    ClassCentres,
    ClassMoments,
    Setting,
    Weights,
    mean_weights,
)
from sgbn.learn.classifier import (
    Learned,
    Priors,
    SGBNClassifier,
    best_temperature,
    log_likelihoods,
    posterior_scores,
    warn_about_classes,
)
from sgbn.solvers.departures import TOL

Numbers = Sequence[float] | Array

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

    The folds, and so the result, depend on `random_state` and on the order of the rows. This
    matters in small samples: probabilities changed by up to 0.19 when the rows were permuted. Fit
    with several values of `random_state` to see how much your probabilities change.

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
            self.slack_, self._temperature = self._choose_move(folds, candidates, *sample)
        whole = Fold.of(moments, settings, every, every)
        networks = self._networks(whole, candidates, self.slack_, *sample)
        self._record(candidates, candidates.weights(every))
        return Learned(networks)

    def _fit_temperature(self, values: Array, labels: NDArray[Any], names: list[str]) -> float:  # noqa: ARG002
        return self._temperature

    def _folds(
        self, values: Array, codes: Indices, names: list[str], settings: list[Setting]
    ) -> list[Fold]:
        """Fit all settings in every fold of every repeat. Return [] if a class is too small."""
        n_folds = count_folds(codes, self._units)
        if not n_folds:
            return []
        folds = inner_folds(codes, self._units, n_folds, REPEATS, self.random_state)
        classes = self.classes_.tolist()
        try:
            return [
                Fold.of(
                    ClassMoments.of(values[train], codes[train], classes, names),
                    settings,
                    train,
                    test,
                )
                for train, test in folds
            ]
        except InputError as error:  # such as a region that is constant in a fold
            raise InputError(f"in a fold of the training rows: {error}") from error

    def _compare(
        self, folds: list[Fold], settings: list[Setting], values: Array, codes: Indices
    ) -> Candidates:
        """Compute the loss of every candidate on rows that it has not seen."""
        shares = list(map(float, self.mean_shares))
        temperatures = np.ones((len(settings), len(shares)))
        losses = np.zeros((*temperatures.shape, len(codes)))
        unseen = [  # log-likelihoods of test rows, by fold and setting
            [
                fold.centres.log_likelihoods(weights, shares, values[fold.test])
                for weights in fold.weights
            ]
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
            mean = float(self.candidates_["weight"] @ self.candidates_[field])
            setattr(self, f"{field}_", mean)

    def _choose_move(
        self,
        folds: list[Fold],
        candidates: Candidates,
        values: Array,
        labels: NDArray[Any],
        names: list[str],
    ) -> tuple[float, float]:
        """Return the best radius and its temperature.

        A larger radius must lower the loss by more than the standard error of the difference.
        """
        radii = sorted(map(float, self.slacks))
        if not folds:
            return radii[0], 1.0
        codes = np.searchsorted(self.classes_, labels)
        best, least = (radii[0], 1.0), np.full(len(codes), np.inf)
        for slack in radii:
            unseen = [
                log_likelihoods(
                    self._networks(fold, candidates, slack, values, labels, names),
                    values[fold.test],
                )
                for fold in folds
            ]
            temperature, losses = self._loss(folds, unseen, codes)
            gain = least - losses
            # The first radius has nothing to compare with: its gain is infinite.
            if slack == radii[0] or gain.mean() > gain.std() / np.sqrt(len(gain)):
                best, least = (slack, temperature), losses
        return best

    def _networks(
        self,
        fold: Fold,
        candidates: Candidates,
        slack: float,
        values: Array,
        labels: NDArray[Any],
        names: list[str],
    ) -> dict[Any, GaussianNetwork]:
        """Return the weighted mean of the candidates' networks in a fold.

        The weights only depend on the losses of the training rows of the fold. If `slack` is above
        0, the edge weights of the mean are then moved.
        """
        centres, rows = fold.centres, fold.train
        # Edge weights and noise depend on the setting only, and class means on the share only. So
        # the first mean needs only the row sums of the weights, and the second the column sums.
        weights = candidates.weights(rows)
        mean = mean_weights(fold.weights, weights.sum(axis=1))
        self._warn_unless_converged(mean.violation, centres)
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

    @staticmethod
    def _warn_unless_converged(violation: float, centres: ClassCentres) -> None:
        if violation > TOL:
            warn(
                f"the edge weights are still {violation:.1e} away from their optimum (tolerance: "
                f"{TOL:g}). Without penalty and ridge, {centres.sizes.sum():g} rows of "
                f"{len(centres.order)} regions hardly determine them. Give alphas or ridges above "
                "0.",
                ConvergenceWarning,
            )
