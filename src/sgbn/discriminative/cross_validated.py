r"""The classifier that chooses its own sparsity, blend, radius and temperature.

Candidates are the members of a family of networks (`sgbn.discriminative.departures`), each with a
share of the distance between class means. With :math:`\ell_i` the mean log-loss of candidate i on n
rows that it has not seen, at its best temperature :math:`\tau_i`, the networks are the mean of the
candidates' with the weights

.. math:: w_i \propto \tau_i \exp(-n \ell_i / 2).

With few rows the log-losses of candidates differ by less than their errors, so that the best of
them is best by chance: to average is better than to choose. A candidate whose likelihoods say
little has a low temperature, and counts for little.
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
from sklearn.model_selection import RepeatedStratifiedKFold

from sgbn.discriminative.cl_sgbn import CLSGBNClassifier
from sgbn.discriminative.class_networks import log_likelihoods, warn_about_classes
from sgbn.discriminative.departures import (
    ClassCentres,
    ClassMoments,
    Setting,
    Weights,
    mean_weights,
)
from sgbn.discriminative.likelihood import (
    Learned,
    Priors,
    SGBNClassifier,
    best_temperature,
    count_folds,
    folds_of_units,
    posterior_scores,
)
from sgbn.exceptions import InputError, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.parameters import NOT_NEGATIVE, PROBABILITY, ListOf, Number, Parameters
from sgbn.solvers.departures import TOL
from sgbn.types import Array, Indices

Numbers = Sequence[float] | Array

REPEATS = 3  # of the split into folds, so that the result depends less on one split
EVIDENCE = 0.5  # share of the summed log-loss that counts: candidates err on the same rows
MIN_RELATIVE_WEIGHT = 1e-3  # smaller weights, relative to the largest, are not worth a fit
FIELDS = ("alpha", "pool", "ridge", "mean_share", "log_loss", "temperature", "weight")


class Fold(NamedTuple):
    """Which rows are trained on and left out, and what every setting gives in training.

    Covariances are not kept: they would take most of the memory.
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
    """Candidate settings, and their loss on rows that they have not seen.

    Attributes
    ----------
    settings : list of Setting
    shares : list of float
    losses : ndarray of shape (settings, shares, n)
        Of every row, at the temperature of the candidate, the mean over repeats.
    temperatures : ndarray of shape (settings, shares)
    """

    settings: list[Setting]
    shares: list[float]
    losses: Array
    temperatures: Array

    def weights(self, rows: Indices) -> Array:
        """Weights by the losses of these rows, shape (settings, shares)."""
        total = EVIDENCE * self.losses[:, :, rows].sum(axis=2)
        total[~np.isfinite(total)] = np.inf  # a candidate without an optimum does not count
        weights = self.temperatures * np.exp(total.min() - total)  # the largest is about 1
        weights[weights < MIN_RELATIVE_WEIGHT * weights.max()] = 0.0
        shares: Array = weights / weights.sum()
        return shares


class _FromNetworks(CLSGBNClassifier):
    """`CLSGBNClassifier` from standardised networks, given in place of a learner."""

    def _standardised_networks(self, *_: Any) -> dict[Any, GaussianNetwork]:
        return cast(dict[Any, GaussianNetwork], self.learner)


class SGBNClassifierCV(SGBNClassifier):
    """One network per class, with all settings chosen by cross-validation.

    The networks are sparse departures from a common one, along one order: most edges of two groups
    are alike, and those that differ stand out. How sparse, how much alike, with how large a ridge
    and with how much of the difference in means is settled by the log-loss of rows that the
    networks have not seen, in five folds of the training rows, three times; networks of several
    settings are averaged by it. The temperature is that of the same rows, see Notes.

    Parameters
    ----------
    alphas : sequence of float
        Prices of an edge of the common network, in standard errors of its weight; a departure from
        it costs twice as much.
    pools : sequence of float
        Shares of the pooled covariance in that of each class; 1 lets means differ only.
    ridges : sequence of float
        Shares of the diagonal in the covariances, below 1.
    mean_shares : sequence of float
        Shares of the distance of class means from the common one.
    slacks : sequence of float
        Radii of the move of `CLSGBNClassifier`; 0 leaves the networks as they are. By default there
        is no move: where departures are sparse already, moving edges raised the log-loss of all
        data that we tried. A move must gain more than its standard error.
    priors : {"equal", "empirical"} or mapping of class to share
        Equal by default: in a case-control study, how many subjects of each group were scanned
        says nothing about the next one.
    random_state : int
        Of the folds.

    Attributes
    ----------
    alpha_, pool_, ridge_, mean_share_ : float
        Weighted means of those of the candidates.
    slack_ : float
        The one chosen.
    candidates_ : structured ndarray
        Fields alpha, pool, ridge, mean_share, log_loss, temperature, weight.
    classes_, networks_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.

    Notes
    -----
    The networks are averages over many settings, to predict with: they have more edges than any one
    of them, and more than one would want to look at. Time grows fast with the regions: about
    0.25 s for 80 rows of 40, 3.5 s for 120 rows of 200 (``benchmarks/classifiers.py --time``).

    With fewer than four rows of a class there are no folds: all candidates weigh the same.

    The folds are not nested. The temperature is that of averages which leave a fold out of the
    networks and out of the losses that weigh candidates; but these losses are of networks that
    other folds had trained on it, and the temperature of each candidate is that of all rows. True
    nesting would compare all candidates anew in every fold. On simulated cohorts whose groups do
    not differ, it would have changed the log-loss by about 0.005.

    The folds, and so the result, depend on `random_state` and on the order of the rows. In a small
    sample that matters: probabilities moved by up to 0.19 when the rows were permuted. Fit with
    several values of `random_state` to see how far yours do.

    Examples
    --------
    >>> from sgbn import SGBNClassifierCV, simulate_cohort
    >>> cohort = simulate_cohort(60, regions=10)
    >>> found = SGBNClassifierCV().fit(cohort.values, cohort.group)
    >>> bool(found.score(cohort.values, cohort.group) > 0.6)
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
            # Fits of folds only choose the radius. The fit of all rows warns, and is the one used.
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
        """Folds of all repeats, the first one first; none if a class has too few rows."""
        n_folds = count_folds(codes, self._units)
        if not n_folds:
            return []
        splitter = RepeatedStratifiedKFold(
            n_splits=n_folds, n_repeats=REPEATS, random_state=self.random_state
        )
        folds = splitter.split(values, codes)
        if self._units is not None:
            folds = folds_of_units(codes, self._units, n_folds, REPEATS, self.random_state)
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
        """Loss of every candidate on rows that it has not seen; none at all without folds."""
        shares = list(map(float, self.mean_shares))
        temperatures = np.ones((len(settings), len(shares)))
        losses = np.zeros((*temperatures.shape, len(codes)))
        unseen = [  # of each fold, for each setting
            [
                fold.centres.log_likelihoods(weights, shares, values[fold.test])
                for weights in fold.weights
            ]
            for fold in folds
        ]
        # Without folds all losses stay 0, so that all candidates weigh the same.
        for i, k in np.ndindex(temperatures.shape) if folds else ():
            likelihoods = [of_fold[i][k] for of_fold in unseen]
            temperatures[i, k], losses[i, k] = self._loss(folds, likelihoods, codes)
        return Candidates(settings, shares, losses, temperatures)

    def _loss(self, folds: list[Fold], unseen: list[Array], codes: Indices) -> tuple[float, Array]:
        """Best temperature for unseen log-likelihoods, and the loss of every row at it."""
        rows = np.concatenate([fold.test for fold in folds])
        likelihoods = np.vstack(unseen)
        temperature = best_temperature(likelihoods, codes[rows], self.priors_)
        scores = posterior_scores(likelihoods, temperature, self.priors_)
        losses = -log_softmax(scores, axis=1)[np.arange(len(rows)), codes[rows]]
        return temperature, np.bincount(rows, losses) / REPEATS  # every row is in each repeat once

    def _record(self, candidates: Candidates, weights: Array) -> None:
        """Keep the candidates, and the weighted means of what they differ in."""
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
        """Radius and temperature: a larger radius must gain more than its standard error."""
        radii = sorted(map(float, self.slacks))
        if not folds:
            return radii[0], 1.0
        codes = np.searchsorted(self.classes_, labels)
        best, least = (radii[0], 1.0), np.full(len(codes), np.inf)
        # From small to large: a larger radius, which changes more, must show that it gains.
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
            # the first one sets the mark: its gain over nothing is infinite, and has no error
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
        """Average the candidates' networks of a fold, with weights by their losses.

        The losses are of rows that each network had not seen, but it may have seen those that this
        fold leaves out.
        """
        centres, rows = fold.centres, fold.train
        # Settings are averaged over their shares, and shares over the settings: weights, noise and
        # means of the networks are then each a weighted mean.
        weights = candidates.weights(rows)
        mean = mean_weights(fold.weights, weights.sum(axis=1))
        self._warn_unless_converged(mean.violation, centres)
        mean_share = float(weights.sum(axis=0) @ candidates.shares)
        class_networks = centres.networks(mean, mean_share, names)
        networks = dict(zip(self.classes_.tolist(), class_networks, strict=True))
        if slack == 0:
            return {label: centres.scale.in_units(network) for label, network in networks.items()}
        sharpness = float((weights * candidates.temperatures).sum())
        # Not `fit`: rows and labels are checked already, and no temperature is wanted.
        moving = _FromNetworks(cast(Any, networks), slack=slack, sharpness=sharpness)
        moving.classes_, moving.priors_ = self.classes_, self.priors_
        return moving._learn(values[rows], labels[rows], names).networks

    @staticmethod
    def _warn_unless_converged(violation: float, centres: ClassCentres) -> None:
        if violation > TOL:
            warn(
                f"edge weights ended {violation:.1e} from their optimum ({TOL:g} is asked for): "
                f"without a price and a ridge, {len(centres.order)} regions of "
                f"{centres.sizes.sum():g} rows leave them all but free. Give alphas or ridges "
                "above 0.",
                ConvergenceWarning,
            )
