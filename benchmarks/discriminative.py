"""Compare KL- and MM-SGBN with SLSQP and scikit-learn, and measure how their time grows.

We and SLSQP get the same data, networks, edges and constraints, and exact gradients. SLSQP solves
MM as the paper does, with one slack variable per subject. Our time includes the choice of edges
and the whitening.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from output import cpu_times, main, select, timed
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from sgbn.cohort.simulate import simulate_cohort
from sgbn.learn.classifier import Scale, learn_networks
from sgbn.paper.descent import margins, residuals_at
from sgbn.paper.kl_sgbn import KLSGBNClassifier, PairwiseFisherKernels
from sgbn.paper.mm_sgbn import MMSGBNClassifier
from sgbn.paper.moved import MovingLikelihoods, Sample, exact_margin, theta_of
from sgbn.paper.or_sgbn import ORSGBN

# Edges and nu are the classifiers' defaults.
SEED, REPEATS, COHORTS, EDGES, NU = 0, 10, 8, 100, 0.5
N = 40  # subjects per class in the race with SLSQP
MANY_SUBJECTS, ROWS = 10_000, (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
OPTIONS = {"maxiter": 300, "ftol": 1e-7}


class Problem:
    """Two classes of a simulated cohort with 40 regions, and their networks."""

    def __init__(self, seed, n=N):
        cohort = simulate_cohort(n, seed)
        self.Z = Scale.of(cohort.values).standardise(cohort.values)
        self.codes = np.unique(cohort.group, return_inverse=True)[1]
        # Unit variances as in the paper: a move changes only residuals.
        networks = learn_networks(
            ORSGBN(0.1), self.Z, cohort.group, cohort.regions, variances="unit"
        )
        self.networks = list(networks.values())
        variances = np.ones((2, self.Z.shape[1]))
        self.sample = Sample(self.Z, self.codes, variances, np.log([0.5, 0.5]))

    def moves(self):
        """Return the chosen edges, whitened."""
        chooser = MMSGBNClassifier(edges=EDGES)
        places = chooser._selected(self.Z, self.codes, self.networks)
        rows = [self.codes == c for c in range(2)]
        return chooser._moves(self.Z, rows, [theta_of(net) for net in self.networks], places)

    def optimise(self, classifier):
        """Run our optimiser, including its set-up."""
        return classifier._optimise(MovingLikelihoods.of(self.sample, self.moves())).u


def ball_constraint(moves, n_extra=0):
    """Return the fitting constraints in SLSQP's form. They do not depend on extra variables."""
    radii = np.array([part.radius for part in moves.classes])
    d = len(moves.u0)

    def slack(x):
        # Squares are used, because the gradient of a norm is not defined at 0.
        return radii**2 - [part @ part for part in moves.split(x[:d])]

    def slope(x):
        J = np.zeros((len(radii), d + n_extra))
        for c, part in enumerate(moves.split(x[:d])):
            J[c, moves.offsets[c] : moves.offsets[c + 1]] = -2 * part
        return J

    return {"type": "ineq", "fun": slack, "jac": slope}


def slsqp_kl(likelihoods):
    moves = likelihoods.moves
    bound = PairwiseFisherKernels(likelihoods, 1.0, moves.u0)
    # The objective is divided by its first value, because ftol is absolute.
    unit = bound(moves.u0)[0]

    def value_and_gradient(u):
        value, gradient = bound(u)
        return value / unit, gradient / unit

    solution = minimize(
        value_and_gradient,
        moves.u0,
        jac=True,
        method="SLSQP",
        constraints=ball_constraint(moves),
        options=OPTIONS,
    )
    return solution.x


def slsqp_mm(likelihoods):
    """Return the weights u. The variables are u, one slack per subject, and the margin r."""
    P, moves = likelihoods.residuals, likelihoods.moves
    n, d = len(P.codes), len(moves.u0)
    price = 1 / (NU * n)
    # The block of each design column tells to which residual it belongs.
    block = np.repeat(np.arange(len(P.owner)), np.diff(P.starts))
    sign = np.where(P.codes == P.owner[block][:, None], 1.0, -1.0)

    def margins_at(x):
        return margins(likelihoods.log_likelihoods(x[:d]), P.codes)[0]

    def slope(x):
        R = np.empty_like(P.A)
        residuals_at(P, x[:d].copy(), R)
        return np.hstack([(sign * R[block] * P.D).T, np.eye(n), -np.ones((n, 1))])

    start = margins_at(moves.u0)
    r = exact_margin(likelihoods, moves.u0, NU).r
    # The objective is linear in slacks and margin, so that its gradient is constant.
    gradient = np.r_[np.zeros(d), np.full(n, price), -1.0]
    solution = minimize(
        lambda x: price * x[d:-1].sum() - x[-1],
        # The start is feasible: slacks make up for margins that are too small.
        np.r_[moves.u0, np.maximum(0, r - start), r],
        jac=lambda _: gradient,
        method="SLSQP",
        bounds=[(None, None)] * d + [(0, None)] * (n + 1),
        constraints=[
            {"type": "ineq", "fun": lambda x: margins_at(x) - x[-1] + x[d:-1], "jac": slope},
            ball_constraint(moves, n + 1),
        ],
        options=OPTIONS,
    )
    return solution.x[:d]


def seconds(function, repeats=REPEATS):
    """Return the CPU seconds of the fastest call, and its result."""
    result, first = timed(function)
    # With several repeats the first call only warms up. With one repeat it is the one that counts.
    return (min(cpu_times(function, repeats)) if repeats > 1 else first), result


def against_slsqp(seed):
    """Yield time and objective of our optimiser and of SLSQP on one small cohort."""
    problem = Problem(seed)
    moves = problem.moves()
    likelihoods = MovingLikelihoods.of(problem.sample, moves)
    bound = PairwiseFisherKernels(likelihoods, 1.0, moves.u0)

    def mm_value(u):
        # SLSQP may leave the ball by its tolerance. The projection takes this advantage away.
        return exact_margin(likelihoods, moves.project(u), NU).value

    def kl_value(u):
        return bound(moves.project(u))[0]

    for name, ours, theirs, value in (
        ("KL-SGBN", KLSGBNClassifier(edges=EDGES), slsqp_kl, kl_value),
        ("MM-SGBN", MMSGBNClassifier(edges=EDGES, nu=NU), slsqp_mm, mm_value),
    ):
        # The default argument binds the current method, not the last one of the loop.
        our_seconds, u = seconds(lambda ours=ours: problem.optimise(ours))
        peer, v = seconds(lambda theirs=theirs: theirs(likelihoods))
        yield {
            "study": "SLSQP",
            "method": name,
            "cohort": seed,
            "ours": our_seconds,
            "peer": peer,
            "objective_start": value(moves.u0),
            "objective_ours": value(u),
            "objective_slsqp": value(v),
        }


def against_scikit_learn(n):
    """Yield our times and those of peers on the same large number of rows."""
    problem = Problem(SEED, n // 2)
    peers = {
        "MM-SGBN": (MMSGBNClassifier(edges=EDGES, nu=NU), LogisticRegression()),
        "KL-SGBN": (KLSGBNClassifier(edges=EDGES), SVC(kernel="linear")),
    }
    for name, (ours, theirs) in peers.items():
        repeats = REPEATS if name == "MM-SGBN" else 1
        our_seconds, _ = seconds(lambda ours=ours: problem.optimise(ours), repeats)
        peer, _ = seconds(lambda theirs=theirs: theirs.fit(problem.Z, problem.codes), repeats)
        yield {
            "study": "rows",
            "method": name,
            "n": n,
            "ours": our_seconds,
            "peer_name": type(theirs).__name__,
            "peer": peer,
        }


def growth(n):
    """Return the time of MM-SGBN on n rows."""
    problem = Problem(SEED, n // 2)
    our_seconds, _ = seconds(lambda: problem.optimise(MMSGBNClassifier(edges=EDGES, nu=NU)), 3)
    return {"study": "growth", "method": "MM-SGBN", "n": n, "ours": our_seconds}


def draw(rows, path):
    """Draw time against rows, with a line of slope one."""
    n, t = (np.array([row[key] for row in rows]) for key in ("n", "ours"))
    figure, axes = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
    axes.loglog(n, t, "o-", color="#0072B2", label="MM-SGBN")
    # The line passes through the last point, where constant costs matter least.
    axes.loglog(n, t[-1] * n / n[-1], "--", color="0.5", label="proportional to n")
    axes.set(xlabel="subjects", ylabel="CPU seconds, set-up included")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def slsqp_row(runs):
    """Return the row of one method in the comparison with SLSQP."""
    ours, peer = (np.array([run[key] for run in runs]) for key in ("ours", "peer"))
    gaps = [run["objective_ours"] - run["objective_slsqp"] for run in runs]
    sizes = [abs(run["objective_slsqp"]) for run in runs]
    return {
        "method": runs[0]["method"],
        **{"ours": 1e3 * ours.mean(), "peer": 1e3 * peer.mean()},
        **{"ratio": peer.sum() / ours.sum(), "lowest": (peer / ours).min()},
        "gap": 100 * max(np.divide(gaps, sizes)),
    }


def slots(runs):
    slsqp = (select(runs, study="SLSQP", method=name) for name in ("KL-SGBN", "MM-SGBN"))
    peers = select(runs, study="rows")
    return {
        "subjects": 2 * N,
        "slsqp": list(map(slsqp_row, slsqp)),
        "peers": [run | {"ratio": run["ours"] / run["peer"]} for run in peers],
        "growth": select(runs, study="growth"),
    }


def measure(_):
    warnings.simplefilter("ignore")
    for seed in range(COHORTS):
        yield from against_slsqp(seed)
    yield from against_scikit_learn(MANY_SUBJECTS)
    yield from map(growth, ROWS)


if __name__ == "__main__":
    given, results = main(measure, slots)
    draw(select(results["runs"], study="growth"), given.out / "discriminative_growth.png")
