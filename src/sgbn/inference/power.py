"""The power of a study, which is the chance to find a difference, by simulation.

Two groups are drawn from a network. Some edges are weaker in the second group. `edge_differences`
tests these groups like real ones. Simulation k uses the same random rows for any number of subjects
(the first n of them) and the same edges for any effect. So two designs are compared on the same
random draws.

A search for the number of subjects per group that gives a wanted power.

Sizes are tried by doubling and bisection. Each simulated power has a Monte-Carlo error. A plain
bisection would end too early at a size whose power is too high by chance. So a rising curve is
fitted to all sizes that were tried, and sizes a little above the answer are tried too.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from scipy.special import ndtri
from sklearn.isotonic import isotonic_regression

from sgbn.cohort.rows import region_index
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.graph import random_dag
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import DataWarning, InputError
from sgbn.core.types import Array, Indices
from sgbn.core.validation import NOT_NEGATIVE, SEED, SHARE, OneOf, Whole, is_number, read_edge
from sgbn.inference.difference_problem import FEWEST_PERMUTATIONS, MIN_SUBJECTS_PER_GROUP
from sgbn.inference.difference_tables import CORRECTIONS
from sgbn.inference.differences import edge_differences
from sgbn.inference.permutations import few_permutations
from sgbn.learn.base import network_of
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study

Edge = tuple[str, str]

DEGREE = 3.0  # mean number of neighbours of a region in a random network
WEIGHTS = (0.5, 1.0)  # range of the sizes of weights in a random network, whose noise has sd 1
INTERVAL = 0.95  # coverage of the interval of a power


class Power(NamedTuple):
    """The chance to find a difference, with its Monte-Carlo interval (95 %).

    Attributes
    ----------
    n_per_group : int
        Number of subjects per group.
    power, low, high : float
        Share of the changed edges that are found, in either direction, and its interval.
    any_edge : float
        Share of simulations in which any edge at all is found.
    overall : float
        Share of simulations in which the global test finds a difference.
    trials : float
        Number of independent trials that the interval is based on. It is the number of simulations,
        or more if several edges change and are not always found or missed together.
    """

    n_per_group: int
    power: float
    low: float
    high: float
    any_edge: float
    overall: float
    trials: float


@dataclass(frozen=True)
class StudyDesign:
    """The design of the simulated studies; `power` describes the fields."""

    effect: float
    network: Any
    edges: tuple[Edge, ...]
    n_changed: int
    level: float
    by: str
    n_permutations: int
    random_state: int

    def __post_init__(self) -> None:
        # The dataclass is frozen. These two arguments are replaced by what they stand for.
        object.__setattr__(self, "network", _network(self.network))
        object.__setattr__(self, "n_changed", len(self.edges) or self.n_changed)
        NOT_NEGATIVE.check("effect", self.effect)
        Whole(1).check("n_changed", self.n_changed)
        SHARE.check("level", self.level)
        OneOf(*CORRECTIONS).check("by", self.by)
        SEED.check("random_state", self.random_state)
        count = Whole(FEWEST_PERMUTATIONS).check("n_permutations", self.n_permutations)
        if problem := few_permutations(count, self.level, self.by):
            raise InputError(problem)
        if isinstance(self.network, GaussianNetwork):
            self._check_network(self.network)
        elif self.edges:
            raise InputError("power.edges").says(
                "edges are given without a network that has them", "Give it as {network=}."
            )
        m = self.network
        most = m.n_edges if isinstance(m, GaussianNetwork) else m - 1
        if self.n_changed > most:
            raise InputError("power.changes", n=self.n_changed, most=most).says(
                "n_changed is {n}, but at most {most:edge} can change", "Give a larger network."
            )

    def _check_network(self, network: GaussianNetwork) -> None:
        for source, target in self.edges:
            i, j = (region_index(name, network.names) for name in (source, target))
            if network.coef[i, j] == 0:
                raise InputError("power.no-edge", source=source, target=target).says(
                    "the network has no edge {source} -> {target}", "Name other edges."
                )
        network.check_noise()

    def described(self) -> dict[str, Any]:
        """Return the settings of a study."""
        network: Any = self.network
        if isinstance(network, GaussianNetwork):
            # Lists, since a study keeps its settings as JSON.
            network = [network.coef.tolist(), network.noise_variance.tolist()]
        return vars(self) | {"network": network, "edges": [list(edge) for edge in self.edges]}


def power(
    effect: float,
    n_per_group: int,
    network: int | NetworkLike = 40,
    *,
    edges: Sequence[Edge] = (),
    n_changed: int = 1,
    level: float = 0.05,
    by: str = "q",
    n_simulations: int = 100,
    n_permutations: int = 199,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Power:
    """Return the chance that `edge_differences` finds a difference.

    By default a difference counts if it is found in one direction (``by="q"``). A report calls only
    those differences significant that hold both ways, as `edge_differences` explains. To plan for
    these, give ``by="q_both"``, which needs more subjects.

    Every simulation learns an order, by the fast setting ``SGBN(n_kicks=0)``. The default of
    `edge_differences` is ``SGBN()``, which may find a little more.

    Parameters
    ----------
    effect : float
        Amount by which the size of the weight is smaller in the second group. If it is larger than
        the weight, the sign changes. The unit is a standard deviation of the target per standard
        deviation of the source, both in the first group. The noise is the same in both groups.
    n_per_group : int
        Number of subjects per group.
    network : int, GaussianNetwork or fitted learner
        The true network of the first group. If it is a number, every simulation draws another
        random network with this number of regions. Its regions have three neighbours on average,
        weights of size 0.5 to 1 with either sign, and standard normal noise.
    edges : sequence of (source, target), or one such pair, optional
        The edges of the network that change. By default, every simulation changes other edges.
    n_changed : int
        Number of edges that change, if `edges` is not given. With the false discovery rate, each of
        many changed edges is found more easily than a single one.
    level : float
        Level of the test, such as 0.05.
    by : {"q", "p_fwer", "q_both", "p_fwer_both", "p", "p_both"}
        The number that is compared with the level: the false discovery rate (q), the family-wise p,
        or the p of the edge alone. With "_both" it is for differences that hold both ways.
    n_simulations : int
        Number of simulations. The Monte-Carlo error of the power is at most
        ``0.5 / sqrt(n_simulations)``.
    n_permutations : int
        Number of permutations per simulation. The false discovery rate needs at least
        ``1 / level``. For a p, one fewer is enough.
    random_state : int
        Seed of the simulations.
    n_jobs : int, optional
        Number of processes. Results do not depend on it. Processes take seconds to start, so that
        one process is faster for a few quick simulations.
    folder : path, optional
        Folder that keeps the finished simulations. A later start may ask for more simulations.
    progress : bool
        Whether to show a bar with the time left.

    Examples
    --------
    >>> from sgbn.inference.power import power
    >>> found = power(0.8, 60, 6, n_simulations=10, n_permutations=39)
    >>> found.low < found.power <= found.high
    True
    """
    chosen = edge_pairs(edges)
    design = StudyDesign(
        effect, network, chosen, n_changed, level, by, n_permutations, random_state
    )
    n = Whole(MIN_SUBJECTS_PER_GROUP).check("n_per_group", n_per_group)
    n_simulations = Whole(2).check("n_simulations", n_simulations)
    tasks = {f"{k:05d}": {"simulation": k} for k in range(n_simulations)}
    described = design.described() | {"n_per_group": n}
    study = Study(folder, n_jobs, progress)
    results = study.run(_simulate, tasks, described, shared={"design": design, "n": n})
    shares = np.array([result["found"] for result in results.values()])
    any_edge = float(np.mean([result["any_edge"] for result in results.values()]))
    overall = float(np.mean([result["overall"] for result in results.values()]))
    share, trials = float(shares.mean()), effective_trials(shares, design.n_changed)
    return Power(n, share, *wilson(share, trials), any_edge, overall, trials)


def edge_pairs(edges: Any) -> tuple[Edge, ...]:
    """Return the edges as tuples. A single pair of names is one edge."""
    chosen = tuple(edges)
    # Two names are one edge, not two edges.
    if len(chosen) == 2 and all(isinstance(end, str) for end in chosen):
        chosen = (chosen,)
    return tuple(read_edge(edge, "edges", str) for edge in chosen)


def _network(network: int | NetworkLike) -> int | GaussianNetwork:
    """Return the network, or the number of regions of random networks."""
    return Whole(2).check("network", network) if is_number(network) else network_of(network)


def effective_trials(shares: Array, n_edges: int) -> float:
    """Return the number of independent trials that would vary as much as the shares of found edges.

    Each simulation has one share, over the same number of edges. The edges of one simulation are
    partly found or missed together. So the number of trials is at least the number of simulations
    (all edges together) and at most the number of all edges (each edge independently). If all
    shares are the same, they do not show this. The number of simulations is then returned.
    """
    n, mean, variance = len(shares), shares.mean(), shares.var()
    if np.ptp(shares) == 0:
        return float(n)
    return float(np.clip(n * mean * (1 - mean) / variance, n, n * n_edges))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's interval (95 %) of a share of n trials."""
    z2 = float(ndtri((1 + INTERVAL) / 2)) ** 2
    # If all simulations agree, Wilson's interval still has a width and stays inside [0, 1]. A
    # normal interval would have no width.
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _simulate(design: StudyDesign, n: int, simulation: int) -> dict[str, float]:
    """Draw two groups, test them, and return the share of the changes that was found."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        rows, changed = _draw(design, n, simulation)
        groups, learner, count = np.repeat([0, 1], n), SGBN(n_kicks=0), design.n_permutations
        tests = edge_differences(
            rows, groups, learner=learner, n_permutations=count, random_state=simulation
        )
    place = {name: k for k, name in enumerate(tests.regions)}
    # A find counts in either direction, since the pair differs.
    finds = tests.significant(design.level, design.by)
    pairs = {frozenset((place[e["source"]], place[e["target"]])) for e in finds}
    return {
        "found": float(np.mean([frozenset(edge) in pairs for edge in changed.tolist()])),
        "any_edge": float(len(finds) > 0),
        "overall": float(tests.global_p <= design.level),
    }


def _draw(design: StudyDesign, n: int, simulation: int) -> tuple[Array, Indices]:
    """Return the rows of both groups, and the edges that were changed."""
    # Each group has its own random stream. So more subjects only add rows to the first n.
    rng, for_first, for_second = (
        np.random.default_rng([design.random_state, simulation, part]) for part in range(3)
    )
    network = _truth(design.network, design.n_changed, rng)
    if design.edges:
        ends = [[region_index(name, network.names) for name in edge] for edge in design.edges]
        edges = np.array(ends)
    else:
        edges = rng.permutation(np.argwhere(network.coef))[: design.n_changed]
    other = _changed(network, edges, design.effect)
    return np.vstack([network.sample(n, for_first), other.sample(n, for_second)]), edges


def _truth(network: int | GaussianNetwork, least: int, rng: np.random.Generator) -> GaussianNetwork:
    """Return the given network, or a random network with at least `least` edges."""
    if isinstance(network, GaussianNetwork):
        return network
    graph = random_dag(network, DEGREE, rng)
    # Small random graphs may have too few edges to change.
    while graph.sum() < least:
        graph = random_dag(network, DEGREE, rng)
    sign = rng.choice([-1.0, 1.0], graph.shape)
    return GaussianNetwork(graph * sign * rng.uniform(*WEIGHTS, graph.shape))


def _changed(network: GaussianNetwork, edges: Indices, effect: float) -> GaussianNetwork:
    """Return the network with some weights reduced by the effect."""
    coef = np.array(network.coef)
    sd = np.sqrt(np.diag(network.covariance))
    i, j = edges.T
    # Weights move towards 0, and change their sign if the effect is larger.
    coef[i, j] -= np.sign(coef[i, j]) * effect * sd[j] / sd[i]
    return GaussianNetwork(coef, network.intercept, network.noise_variance, network.names)


Bracket = tuple[int, int | None]

LARGEST = 5000  # largest number of subjects per group that is tried
NARROW = 0.03  # precision of the number of subjects, as a share
CONFIRMED = (1.1, 1.2)  # multiples of a size that are also tried before the search ends
ROUND_OFF = 1e-9  # round-off of a mean of powers


class SampleSize(NamedTuple):
    """The number of subjects per group for a wanted power.

    Attributes
    ----------
    n_per_group : int
        The smallest number that was found to have the power. It is precise to about 3 %. A rising
        curve is fitted to the powers of all sizes that were tried (isotonic regression), since a
        power cannot fall with more subjects. If a simulated power falls, the mean power of the
        neighbouring sizes is used. Sizes 10 and 20 % above `n_per_group` have been tried too.
    low, high : int
        The range that the simulations leave open. On the same curve, these are the smallest numbers
        for which the upper and the lower end of the power's interval reach the wanted power. With
        few simulations the range is wide. The largest number that is tried is 5,000.
    tried : tuple of Power
        The power of each size that was tried, sorted by number of subjects.
    """

    n_per_group: int
    low: int
    high: int
    tried: tuple[Power, ...]


class PowerOptions(TypedDict, total=False):
    """The options that `sample_size` passes on to `power` without a change."""

    edges: Sequence[Edge]
    n_changed: int
    level: float
    by: str
    n_permutations: int
    random_state: int
    n_jobs: int | None
    progress: bool


power_with = power  # `sample_size` has a parameter called power


def sample_size(
    effect: float,
    power: float = 0.8,
    network: int | NetworkLike = 40,
    *,
    n_simulations: int = 100,
    folder: str | Path | None = None,
    **options: Unpack[PowerOptions],
) -> SampleSize:
    """Return the number of subjects per group for a wanted power, by doubling and bisection.

    All sizes that are tried contribute to the estimated power of each size, see `SampleSize`.

    Parameters
    ----------
    effect : float
        Size of the difference, as in `sgbn.inference.power`.
    power : float
        The wanted chance to find the difference.
    network, n_simulations
        The same as in `sgbn.inference.power`.
    folder : path, optional
        Folder that keeps finished simulations, in one subfolder per number of subjects.
    **options
        edges, n_changed, level, by, n_permutations, random_state, n_jobs and progress, which are
        the same as in `sgbn.inference.power`.

    Raises
    ------
    InputError
        If the power is not reached with 5,000 subjects per group.
    """
    SHARE.check("power", power)
    if wilson(1.0, Whole(2).check("n_simulations", n_simulations))[0] < power:
        raise InputError("power.simulations", n=n_simulations, power=power).says(
            "{n:simulation} cannot tell a power of {power:g} from a lower one", "Give more."
        )
    settings: dict[str, Any] = {**options, "network": network, "n_simulations": n_simulations}
    settings["edges"] = edge_pairs(options.get("edges", ()))  # an iterator would be empty next time
    tried: dict[int, Power] = {}
    size: int | None = 2 * MIN_SUBJECTS_PER_GROUP
    while size is not None:
        study = Study(folder).part(f"n{size:05d}")
        tried[size] = power_with(effect, size, folder=study.folder, **settings)
        brackets = _brackets(tried, power)
        size = _next_size(brackets, tried)
    (_, needed), (_, low), (_, high) = brackets
    if needed is None or low is None:
        n = max(tried)
        raise InputError("power.not-reached", n=n, reached=tried[n].power).says(
            "the power with {n:subject} per group is only {reached:.2f}", "Give a larger effect."
        )
    return SampleSize(needed, low, high or LARGEST, tuple(tried[k] for k in sorted(tried)))


def _brackets(tried: dict[int, Power], wanted: float) -> list[Bracket]:
    """Return three pairs: the largest size that is too small, and the smallest that is enough.

    The first pair is for the power, the second for the upper end of its interval, and the third for
    the lower end. All use a curve that rises with the sizes, so that one power that is too high by
    chance has little weight.
    """
    sizes = sorted(tried)
    curve = isotonic_regression([tried[size].power for size in sizes])
    # The interval of the smoothed power counts only the trials of this size, which is cautious.
    smoothed = zip(curve, sizes, strict=True)
    ends = np.array([wilson(share, tried[size].trials) for share, size in smoothed])
    brackets: list[Bracket] = []
    for values in (curve, ends[:, 1], ends[:, 0]):
        # Sizes that share one mean may differ by round-off.
        first = int((values < wanted - ROUND_OFF).sum())
        few = sizes[first - 1] if first else MIN_SUBJECTS_PER_GROUP - 1
        brackets.append((few, sizes[first] if first < len(sizes) else None))
    return brackets


def _next_size(brackets: Sequence[Bracket], tried: Collection[int]) -> int | None:
    """Return the size to try next, by doubling and bisection; None if the search has ended."""
    for few, many in brackets:
        if many is None:
            return min(2 * few, LARGEST) if few < LARGEST else None
        if many - few > max(1, NARROW * many):
            return (few + many) // 2
    _, needed = brackets[0]
    larger = [int(np.ceil(share * (needed or LARGEST))) for share in CONFIRMED]
    return next((size for size in larger if size <= LARGEST and size not in tried), None)
