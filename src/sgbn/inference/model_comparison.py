"""Check whether a network is the right model of the data.

A hidden common cause makes variables dependent that do not act on each other, and a learner then
draws edges between them. Rows that the network was not learned from can show this. Three models
without arrows are compared with the network: a few hidden factors, a graphical lasso (partial
correlations), and independent variables. One of them may predict these rows better.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import read_sample
from sgbn.core.types import Array, Indices
from sgbn.core.validation import SEED, OneOf, Whole
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
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study

CLEAR = 2.0  # standard errors; a larger difference is called clear (benchmarks/factors.py)
# If the network predicts well, at most LEADING factors are taken out of its edges, and at most one
# factor per COLUMNS_PER_LEADING columns (benchmarks/factors.py).
LEADING = 3
COLUMNS_PER_LEADING = 10
IN_WORDS = ("", "One", "Two", "Three", "Four", "Five", "Six")


@dataclass(frozen=True)
class ModelComparison:
    """How well a network, and three models without arrows, predict rows that they have not seen.

    Attributes
    ----------
    n, m : int
        Number of rows and number of columns.
    log_likelihood : ndarray of shape (n_folds, 4)
        Log-likelihood per variable of the rows of each fold. The models are fitted to the other
        folds. The columns follow `MODELS`: network, factor analysis, graphical lasso, independence.
        A lasso that could not be fitted has NaN.
    fold_factors : ndarray of shape (n_folds,)
        Number of factors that was chosen for each fold, from the other folds.
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
        """Number of factors: the median over the folds, or the lower one of two middle values."""
        # If two values are in the middle, fewer factors are safer than more.
        return int(np.sort(self.fold_factors)[(self.n_folds - 1) // 2])

    @property
    def leading_factors(self) -> int:
        """Number of factors that `edges_beside_factors` should take out.

        It is `n_factors` if the factors predict better than the network. Otherwise it is at most
        three, and at most one for every ten columns. For a sparse network, the number of factors
        that predicts best is often ten or more. So many factors imitate the edges, and nearly all
        edges would be lost.
        """
        if self.edges_may_be_shadows:
            return self.n_factors
        return min(self.n_factors, LEADING, max(1, self.m // COLUMNS_PER_LEADING))

    @cached_property
    def table(self) -> np.recarray[Any, Any]:
        """One row per model, the network first.

        `log_likelihood` is the mean over the folds, per variable. `difference` is this mean minus
        the mean of the network, and `standard_error` belongs to the difference. The training parts
        overlap, so that the folds are not independent. The variance of a mean over the folds is
        therefore multiplied by ``1 + n_folds / (n_folds - 1)`` (Nadeau and Bengio, 2003), which
        tends to be too large rather than too small.
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
        """Return 1 if a model predicts unseen rows clearly better than the network.

        Return -1 if it predicts them clearly worse, and 0 if the difference is not clear. A
        difference is clear if it exceeds `CLEAR` standard errors.
        """
        OneOf(*MODELS).check("model", model)
        row = self.table[MODELS.index(model)]
        if not abs(row.difference) > CLEAR * row.standard_error:  # NaN is not clear
            return 0
        return int(np.sign(row.difference))

    @property
    def edges_may_be_shadows(self) -> bool:
        """Whether hidden factors, without edges, clearly predict better than the network."""
        return self.compare(FACTORS) > 0

    @property
    def edges_may_be_chance(self) -> bool:
        """True unless the network clearly predicts better than independent variables."""
        return self.compare(INDEPENDENCE) >= 0

    @property
    def verdict(self) -> str:
        """The result of the comparison in one or two sentences."""
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
        """Return the log-likelihoods of two models, and the standard error of their difference."""
        rows = [self.table[MODELS.index(name)] for name in (first, second)]
        scores = " against ".join(_signed(row.log_likelihood) for row in rows)
        # One of the two is the network, whose own error is 0: differences are from the network.
        error = max(row.standard_error for row in rows)
        return f"{scores} per variable, standard error of the difference {error:.3f}"

    def _beside_others(self) -> str:
        if self.edges_may_be_chance:
            numbers = self._numbers(NETWORK, INDEPENDENCE)
            if self.compare(INDEPENDENCE) > 0:
                return (
                    "Independent variables predict them better than the network "
                    f"({numbers}): do not rely on its edges."
                )
            return (
                "It is not clear that the network predicts them better than independent variables "
                f"({numbers}): its edges may be due to chance."
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

    Each fold is predicted by models that are fitted to the other folds, the training part. The
    number of factors (1 to 15) and the penalty of the lasso are chosen inside the training part.
    The effects of the sites and covariates of a Cohort are estimated in the training part and taken
    out. The columns are scaled by the training part. Each fold has about the same share of every
    site. All rows of a person are in the same fold. Outlying rows have the same weight in all
    models.

    Parameters
    ----------
    cohort : Cohort, array-like of shape (n, m) or DataFrame
        The data: at least 20 rows and three columns. Arrays and tables are used as they are.
    group : str, optional
        Name of the group to use, if a Cohort has several.
    learner : estimator, optional
        The learner of the network; by default `SGBN`.
    n_folds : int
        Number of folds.
    random_state : int
        Seed of the folds.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.
    folder : path, optional
        Folder that keeps the finished folds. A second start computes only the missing folds.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    ModelComparison
        The result in words (`verdict`) and in numbers (`table`).

    Raises
    ------
    InputError
        If there are too few rows or columns. Also if a column is constant, a copy of another, or a
        linear combination of others: such rows have no density to compare.

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
    # The folds are made here, not in the tasks: all models of a fold see the same rows.
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
