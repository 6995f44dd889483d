"""Measure the level of the p value of an accuracy: how often p is small in cohorts of noise.

python benchmarks/accuracy_level.py

Fast classifiers are used instead of networks, which would take too long for a million fits.
"corrected t" is `Accuracy.p_value`, as in reports. "fixed predictions" permutes the labels, but
keeps the predictions. It costs nothing, but its p is too small, because each prediction depends on
the labels of other subjects. "refitted" fits again for each of 99 permutations, with one repeat.
"""

import numpy as np
from output import main, number

from sgbn.comparison.steps.accuracy import OURS, Accuracy

SEED = 20
LEVELS = (0.05, 0.01)
# The sizes of small studies, one with unequal groups, and one with a single repeat.
DESIGNS = {  # subjects of the groups, regions, folds, repeats
    "30 + 30, 20 regions": (30, 30, 20, 5, 5),
    "20 + 40, 20 regions": (20, 40, 20, 5, 5),
    "75 + 75, 40 regions": (75, 75, 40, 5, 5),
    "60 + 60, 20 regions, one repeat of 4 folds": (60, 60, 20, 4, 1),
}
# With this shrinkage, covariances of 20 regions are regular even for 16 subjects of a group.
SHRINKAGE = 0.3
PERMUTATIONS = 199  # the smallest p is 1 / 200
REFITS = 99  # permutations with a new fit


def linear(X, y, new):
    """Return the scores of group 1 by a shrunken linear discriminant."""
    means = np.array([X[y == k].mean(axis=0) for k in (0, 1)])
    C = _shrunken(X - means[y])
    return (new - means.mean(axis=0)) @ np.linalg.solve(C, means[1] - means[0])


def quadratic(X, y, new):
    """Return the scores of group 1 by Gaussian likelihoods, with one covariance per group."""
    scores = []
    for k in (0, 1):
        mean = X[y == k].mean(axis=0)
        C = _shrunken(X[y == k] - mean)
        far = np.einsum("ij,ji->i", new - mean, np.linalg.solve(C, (new - mean).T))
        scores.append(-(far + np.linalg.slogdet(C)[1]) / 2)
    return scores[1] - scores[0]


def _shrunken(rows):
    C = rows.T @ rows / len(rows)
    return (1 - SHRINKAGE) * C + SHRINKAGE * np.diag(np.diag(C))


CLASSIFIERS = {"linear": linear, "quadratic": quadratic}


def cross_validated(X, y, classify, n_folds, n_repeats, rng):
    """Return the accuracy of stratified folds, as `compare` computes it."""
    folds = np.empty((n_repeats, len(y)), np.intp)
    scores = np.empty((n_repeats, len(y)))
    for fold_of, score_of in zip(folds, scores, strict=True):
        for k in (0, 1):
            rows = rng.permutation(np.flatnonzero(y == k))
            # Subjects are dealt to the folds in turns: folds differ by at most one per group.
            fold_of[rows] = np.arange(len(rows)) % n_folds
        for fold in range(n_folds):
            test = fold_of == fold
            score_of[test] = classify(X[~test], y[~test], X[test])
    # Larger scores would overflow, and beyond 30 the probability is 0 or 1 in practice.
    second = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
    both = np.stack([1 - second, second], axis=2)
    nothing = np.empty(0)
    labels = np.array(["a", "b"])[y]
    return Accuracy(
        # Fields that a p value does not read are empty.
        *(("a", "b"), labels, folds, {OURS: both}, nothing, nothing, nothing, nothing, folds[:0])
    )


def balanced(predicted, labels):
    """Return the balanced accuracy of each row of labels, over all repeats."""
    shares = [
        (predicted == k).astype(float) @ ((labels == k) / (labels == k).sum(axis=1)[:, None]).T
        for k in (0, 1)
    ]
    return (shares[0] + shares[1]).mean(axis=0) / 2


def p_values(design, classify, seed, refitted):
    """Return the p of one cohort of noise, by each method."""
    first, second, m, n_folds, n_repeats = design
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [first, second])
    X = rng.normal(size=(len(y), m)) + rng.normal(size=(len(y), 1))  # regions are correlated
    accuracy = cross_validated(X, y, classify, n_folds, n_repeats, rng)
    predicted = accuracy.probabilities[OURS].argmax(axis=2)
    # The labels themselves come first, so that they count among the permutations.
    permuted = np.array([y, *(rng.permutation(y) for _ in range(PERMUTATIONS))])
    fixed = balanced(predicted, permuted)
    # The small constant allows for round-off: equal accuracies may be summed in another order.
    p = {"corrected t": accuracy.p_value(), "fixed predictions": np.mean(fixed >= fixed[0] - 1e-12)}
    if refitted:
        refits = [
            balanced(
                cross_validated(X, labels, classify, n_folds, 1, rng).probabilities[OURS].argmax(2),
                labels[None],
            )[0]
            for labels in permuted[: REFITS + 1]
        ]
        p["refitted"] = np.mean(np.array(refits) >= refits[0] - 1e-12)
    return p


def measure(given):
    """Yield one row per design, classifier and method: the share of cohorts at each level."""
    for name, design in DESIGNS.items():
        for kind, classify in CLASSIFIERS.items():
            # Refits cost a hundred times as much: only some cohorts have them.
            of_cohorts = [
                p_values(design, classify, (SEED, k), k < given.refitted)
                for k in range(given.cohorts)
            ]
            for method in ("corrected t", "fixed predictions", "refitted"):
                p = np.array([by_method[method] for by_method in of_cohorts if method in by_method])
                if len(p):
                    shares = {f"{level:g}": float(np.mean(p <= level)) for level in LEVELS}
                    row = {"design": name, "classifier": kind, "p by": method, "cohorts": len(p)}
                    yield row | shares


def slots(runs):
    return {"levels": [list(run.values()) for run in runs]}


if __name__ == "__main__":
    main(measure, slots, cohorts=number(400), refitted=number(0, "of these, with refits"))
