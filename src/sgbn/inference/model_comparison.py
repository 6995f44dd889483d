"""Whether a network is the right picture of the data.

Hidden common causes make variables dependent that do not act on each other, and a learner draws
edges for them. Whether a network is the right picture shows in rows that it was not learned from:
a few hidden factors without any edge, partial correlations without any arrow, or independent
variables may predict them better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort import Cohort
from sgbn.inference.held_out import (
    FACTORS,
    INDEPENDENCE,
    LASSO,
    MODELS,
    NETWORK,
    check_sample,
    deal,
    score_fold,
)
from sgbn.inference.learning import check_learner, described
from sgbn.inference.records import records
from sgbn.inference.rows import read_sample
from sgbn.parameters import SEED, OneOf, Whole
from sgbn.runs import Study
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator
from sgbn.types import Array, Indices

CLEAR = 2.0  # standard errors from which a difference is called one (benchmarks/factors.py)
LEADING = 3  # factors that are taken out of the edges of a network that predicts well, at most
COLUMNS_PER_LEADING = 10  # and one for so many columns (benchmarks/factors.py)
IN_WORDS = ("", "One", "Two", "Three", "Four", "Five", "Six")


@dataclass(frozen=True)
class ModelComparison:
    """Held-out log-likelihood of a network beside models without edges or arrows.

    Attributes
    ----------
    n, m : int
        Rows and columns.
    log_likelihood : ndarray of shape (n_folds, 4)
        Per variable, of each fold under the models of the others, in the order of `MODELS`:
        network, factor analysis, graphical lasso, independence. NaN for a lasso that could not be
        fitted.
    fold_factors : ndarray of shape (n_folds,)
        Number of factors that each training part chose.
    """

    n: int
    m: int
    log_likelihood: Array
    fold_factors: Indices

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.log_likelihood)

    @property
    def n_factors(self) -> int:
        """Number of factors that the training parts chose: the (lower) median over the folds."""
        # The lower median: with two folds, fewer factors rather than more.
        return int(np.sort(self.fold_factors)[(self.n_folds - 1) // 2])

    @property
    def leading_factors(self) -> int:
        """Number of factors that `edges_beside_factors` should take out.

        All `n_factors` if they predict better than the network. Else at most three, and at most one
        for every ten columns. For a sparse network, the number of factors that predicts best is
        often ten or more. So many factors imitate the edges, and nearly all edges would be lost.
        """
        if self.edges_may_be_shadows:
            return self.n_factors
        return min(self.n_factors, LEADING, max(1, self.m // COLUMNS_PER_LEADING))

    @cached_property
    def table(self) -> np.recarray[Any, Any]:
        """One row per model, the network first.

        `log_likelihood` per variable, the mean over the folds; `difference`, by how much it is more
        than the network's; `standard_error` of the difference. Training parts overlap, so that
        folds are not independent: the variance of their mean is multiplied by
        ``1 + n_folds / (n_folds - 1)`` (Nadeau and Bengio, 2003), which errs to the safe side.
        """
        gain = self.log_likelihood - self.log_likelihood[:, :1]
        # Nadeau and Bengio: 1 / J + n_test / n_train, which is 1 / (J - 1) for J folds.
        inflated = np.sqrt(1 / self.n_folds + 1 / (self.n_folds - 1))
        columns = {
            "model": np.array(MODELS),
            "log_likelihood": self.log_likelihood.mean(axis=0),
            "difference": gain.mean(axis=0),
            "standard_error": gain.std(axis=0, ddof=1) * inflated,
        }
        return records(columns).view(np.recarray)

    def compare(self, model: str) -> int:
        """1 where a model predicts unseen rows better than the network, -1 worse, 0 not clear.

        A difference is clear from `CLEAR` standard errors upwards.
        """
        OneOf(*MODELS).check("model", model)
        row = self.table[MODELS.index(model)]
        if not abs(row.difference) > CLEAR * row.standard_error:  # NaN is not clear
            return 0
        return int(np.sign(row.difference))

    @property
    def edges_may_be_shadows(self) -> bool:
        """Whether hidden factors without any edge clearly predict better than the network."""
        return self.compare(FACTORS) > 0

    @property
    def verdict(self) -> str:
        """What this says, in a sentence or two."""
        return " ".join(filter(None, (self._beside_factors(), self._beside_others())))

    def _beside_factors(self) -> str:
        k = self.n_factors
        count = IN_WORDS[k] if k < len(IN_WORDS) else str(k)
        hidden = f"hidden factor{'' if k == 1 else 's'} without any edge"
        if self.edges_may_be_shadows:
            verb = "predicts" if k == 1 else "predict"
            return (
                f"{count} {hidden} {verb} unseen subjects better than this network "
                f"({self._numbers(FACTORS, NETWORK)}): edges may be shadows of common causes."
            )
        if self.compare(FACTORS) < 0:
            return (
                f"The network predicts unseen subjects better than {count.lower()} {hidden} "
                f"({self._numbers(NETWORK, FACTORS)})."
            )
        return (
            f"The network and {count.lower()} {hidden} cannot be told apart by how they predict "
            f"unseen subjects ({self._numbers(NETWORK, FACTORS)}): edges may be shadows of common "
            "causes, or not."
        )

    def _numbers(self, first: str, second: str) -> str:
        """Likelihoods of two models, and the standard error of the factors' difference."""
        first_score, second_score = (
            self.table[MODELS.index(name)].log_likelihood for name in (first, second)
        )
        # The network's own row has no error: differences are from the network.
        error = self.table[MODELS.index(FACTORS)].standard_error
        return (
            f"{_signed(first_score)} against {_signed(second_score)} per variable, standard error "
            f"of the difference {error:.3f}"
        )

    def _beside_others(self) -> str:
        if self.compare(INDEPENDENCE) >= 0:
            return (
                "The network does not predict them better than variables without any relation: do "
                "not rely on its edges."
            )
        if self.compare(LASSO) > 0:
            return (
                "A graphical lasso, which has pairs but no arrows, predicts them better than the "
                "network."
            )
        return ""


def compare_models(
    cohort: ArrayLike | Cohort,
    group: str | None = None,
    learner: NetworkEstimator | None = None,
    *,
    n_folds: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> ModelComparison:
    """Compare a network with hidden factors, a graphical lasso and independence on unseen rows.

    Every model is fitted to all folds but one and gives the log-likelihood of the rows of that one.
    The number of factors (1 to 15) and the penalty of the lasso are chosen inside the training
    part. Sites and covariates of a Cohort are taken out by the effects that they have in the
    training part, and columns are scaled by it; sites are spread evenly over the folds, and the
    rows of a person are in one of them. Rows that lie far out count alike for all models.

    Parameters
    ----------
    cohort : Cohort, array-like of shape (n, m) or DataFrame
        At least 20 rows and three columns. Rows of arrays and tables are taken as they are.
    group : str, optional
        The group of a Cohort that has several.
    learner : estimator, optional
        The learner of the network; by default `SGBN`.
    n_folds : int
        Number of folds.
    random_state : int
        Seed of the folds.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.
    folder : path, optional
        Keeps finished folds; a second start does only what is missing.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    ModelComparison
        Its `verdict` says in words what its `table` says in numbers.

    Raises
    ------
    InputError
        If there are too few rows or columns, or a column is constant, a copy, or a linear
        combination of others: such rows have no density to compare.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn import compare_models
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 12))  # one common cause
    >>> compared = compare_models(X)
    >>> compared.n_factors, compared.edges_may_be_shadows
    (1, True)
    """
    sample = read_sample(cohort, group)
    learner = check_learner(SGBN() if learner is None else learner)
    random_state = SEED.check("random_state", random_state)
    check_sample(sample)
    n, m = sample.values.shape
    n_folds = Whole(2, n // 2).check("n_folds", n_folds)
    # Dealt here, not in the tasks: all models of a fold see the same rows.
    folds = deal(sample, n_folds, np.random.default_rng([random_state, 0]))
    settings = described(sample, learner, n_folds=n_folds, random_state=random_state)
    shared = {"sample": sample, "learner": learner, "folds": folds, "random_state": random_state}
    tasks = {f"fold{fold:03d}": {"fold": fold} for fold in range(n_folds)}
    study = Study(folder, n_jobs, progress)
    results = study.run(score_fold, tasks, settings, shared=shared).values()
    return ModelComparison(
        n,
        m,
        np.array([result["log_likelihood"] for result in results]),
        np.array([result["n_factors"] for result in results], np.intp),
    )


def _signed(value: float) -> str:
    """Format a number with three decimals and a true minus sign instead of a hyphen."""
    return f"{value:.3f}".replace("-", "−")
