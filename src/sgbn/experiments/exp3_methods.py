"""What Exp-III compares: data, networks, the rules that classify by them, and their settings.

One factor is varied at a time, as in the paper's figure: the sparsity or the number of edges that
are moved. For the paper's last claim, the fitting error that may be added is varied too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError
from sgbn.discriminative import (
    CLSGBNClassifier,
    KLSGBNClassifier,
    MMSGBNClassifier,
    SGBNClassifierCV,
)
from sgbn.discriminative.fisher_svm import FisherSVMClassifier
from sgbn.experiments.data import one_site, real_tables, require_two_groups
from sgbn.experiments.experiment import Outcomes, Tasks, as_columns, gather, read_rows, repeats
from sgbn.experiments.protocol import Outcome, Rows, evaluate_all, prepare, splits
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.peers import peers
from sgbn.runs.files import Arrays
from sgbn.structure import HSGBN, ORSGBN

SIMULATED = {"edges": "edges", "means": "means", "mixed": "both"}  # name -> what groups differ in
SIMULATED_TEST = 400  # test rows of a simulated cohort, where more rows cost nothing
DESCRIPTIONS = {row["name"]: row["exp3"] for row in read_rows("samples.csv")}
SMALLER = "-small"  # ending of the names of tables that are split in the smaller sizes
MOVED = {"KL-SGBN": KLSGBNClassifier, "MM-SGBN": MMSGBNClassifier, "CL-SGBN": CLSGBNClassifier}
NETWORKS = ("H-SGBN", "OR-SGBN", *MOVED)
BIASES = ("free", "penalised")
LIKELIHOOD, SVM, SVM_100 = "likelihood", "SVM", "SVM 100"
RULES = {LIKELIHOOD: 0, SVM: None, SVM_100: 100}  # rule -> components of the Fisher vectors

DENSE, SPARSE = (0.03, 0.1), (0.3, 0.5, 0.7)
ALPHA, N_EDGES, SLACK = 0.2, 100, 0.01  # base settings; the slack is the paper's
SLACKS = (0.001, SLACK, 0.05, 0.2)
VARIED: dict[str, list[dict[str, Any]]] = {  # name of a series -> settings of its methods
    "alpha": [{"alpha": alpha} for alpha in (*DENSE, ALPHA, *SPARSE)],
    "dense": [{"alpha": alpha} for alpha in DENSE],
    "sparse": [{"alpha": alpha} for alpha in SPARSE],
    "edges moved": [{"edges": edges} for edges in (25, 50, N_EDGES, 200, "present")],
    "slack": [{"slack": slack} for slack in SLACKS],
    "most slack": [{"slack": SLACKS[-1]}],
    "base": [{}],
}
RECOMMENDED = "SGBNClassifierCV"


class Method(NamedTuple):
    """A network, how its biases are learned, the rule that classifies by it, and their settings."""

    network: str
    bias: str
    rule: str = LIKELIHOOD
    alpha: float = ALPHA
    edges: Any = N_EDGES
    slack: float = SLACK

    @property
    def label(self) -> str:
        """Return the name of the method in the results."""
        text = f"{self.network}, {self.bias} bias, {self.rule}, alpha {self.alpha:g}"
        # Edges and slack do not change a network that is not moved, so it must have only one name.
        if self.network not in MOVED:
            return text
        return f"{text}, edges {self.edges}, slack {self.slack:g}"

    def make(self) -> Any:
        """Return an unfitted classifier, with unit variances and equal priors as in the paper."""
        # The classifiers standardise over both groups. Standardising again within each group would
        # make its means 0, so that the penalty on biases would have no effect.
        literal: dict[str, Any] = {"standardize": False, "penalize_intercept": True}
        learns = HSGBN if self.network == "H-SGBN" else ORSGBN
        learner = learns(self.alpha, **(literal if self.bias == "penalised" else {}))
        common: dict[str, Any] = {"variances": "unit", "priors": "equal", "temperature": 1.0}
        if self.network in MOVED:
            common |= {"edges": self.edges, "slack": self.slack, "anchor": "fit"}
        classifier = MOVED.get(self.network, SGBNClassifier)(learner, **common)
        if self.rule == LIKELIHOOD:
            return classifier
        return FisherSVMClassifier(classifier, components=RULES[self.rule])


def methods(
    networks: Iterable[str], bias: str, rule: str = LIKELIHOOD, varied: str = "base"
) -> list[Method]:
    """Return the methods of one rule for each network, at each setting of a series in `VARIED`."""
    return [
        Method(network, bias, rule, **settings)
        for network in networks
        for settings in VARIED[varied]
    ]


def grid() -> list[Method]:
    """Return all methods, each once."""
    # The base settings are in each of the three series. The dict below keeps them once.
    every: list[Method] = []
    for bias in BIASES:
        for rule in RULES:
            every += methods(NETWORKS, bias, rule, "alpha")
        for varied in ("edges moved", "slack"):
            every += methods(MOVED, bias, varied=varied)
    return list(dict.fromkeys(every))


def at_base() -> list[Method]:
    """Return every network, bias and rule at the base settings."""
    return [method for bias in BIASES for rule in RULES for method in methods(NETWORKS, bias, rule)]


def defaults() -> dict[str, Any]:
    """Return the classifiers of the package with their default settings."""
    every = (SGBNClassifierCV, SGBNClassifier, *MOVED.values())
    return {classifier.__name__: classifier() for classifier in every}


@dataclass(frozen=True)
class Settings:
    """The settings of one run of Exp-III.

    `sizes` are the paper's numbers of training and test subjects, and `smaller` are the numbers for
    its PET data.
    """

    splits: int = 30
    seed: int = 0
    regions: int = 40
    sizes: tuple[int, int] = (80, 40)
    smaller: tuple[int, int] = (60, 43)
    # Users do not set this. It is stored, so that results of two grids are not mixed in a folder.
    varied: Mapping[str, Any] = field(default_factory=lambda: VARIED, init=False)


@dataclass(frozen=True)
class Sample:
    """A table to split, or a cohort to simulate again for each split.

    Attributes
    ----------
    sizes : tuple of int
        Numbers of training and test rows.
    cohort : Cohort, optional
        The table. If it is None, cohorts are simulated.
    differ : str
        What the simulated groups differ in.
    """

    sizes: tuple[int, int]
    cohort: Cohort | None = None
    differ: str = ""

    @property
    def overlap(self) -> float:
        """Return test rows per training row if splits overlap; 0 if cohorts are independent."""
        return 0.0 if self.cohort is None else self.sizes[1] / self.sizes[0]

    @property
    def content(self) -> bytes:
        """Return bytes that differ between any two samples."""
        known = b"" if self.cohort is None else self.cohort.content
        return f"{self.differ} {self.sizes}".encode() + known

    def simulate(self, random_state: Any, **options: Any) -> Cohort:
        """Draw two equal groups that are together large enough for training and test rows."""
        return simulate_cohort((sum(self.sizes) + 1) // 2, random_state, **options)


def samples(settings: Settings) -> dict[str, Sample]:
    """Return the real tables, if they are found, and the samples to simulate.

    COBRE and IXI are also split in the sizes of the paper's PET data. The figures cannot be
    compared with the figures of benchmarks/classifiers.py. That benchmark of `SGBNClassifierCV` has
    fewer covariates, and other groups of IXI: the middle and the oldest third.
    """
    tables = real_tables()
    real = {name: to_split(cohort, settings.sizes, name) for name, cohort in tables.items()}
    for name in ("cobre", "ixi"):
        if name in tables:
            real[f"{name}{SMALLER}"] = to_split(tables[name], settings.smaller, name)
    sizes = (settings.sizes[0], SIMULATED_TEST)
    return real | {name: Sample(sizes, differ=differ) for name, differ in SIMULATED.items()}


def to_split(cohort: Cohort, sizes: tuple[int, int], name: str = "") -> Sample:
    """Return the sample of a table; raise InputError unless it has two groups and enough rows."""
    require_two_groups(cohort)
    if sum(sizes) > len(cohort):
        raise InputError(
            f"the table {repr(name) + ' ' if name else ''}has {len(cohort)} subjects, fewer than "
            f"{sizes[0]} for training and {sizes[1]} for testing. Give smaller numbers (--train, "
            "--test)."
        )
    # A table with a single site is not harmonised.
    return Sample(sizes, one_site(cohort))


def draw(sample: Sample, split: int, seed: int) -> tuple[Cohort, Rows]:
    """Return the cohort of one split, and its rows for training and for testing."""
    # The seed contains the number of the split, so that a restart draws the same rows.
    rng = np.random.default_rng([seed, split])
    cohort = sample.cohort or sample.simulate(rng, differ=sample.differ)
    # The seed is an int, because scikit-learn does not accept a Generator of numpy.
    [rows] = splits(cohort, sample.sizes, int(rng.integers(2**31)))
    return cohort, rows


def pipelines(seed: int) -> dict[str, Any]:
    """Return the classifiers of the package with their default settings, and the peers."""
    return defaults() | peers(seed)


def tasks(settings: Settings, data: Mapping[str, Sample]) -> Tasks:
    """Make one task per split of each sample."""
    return repeats(data, settings.splits)


def work(settings: Settings, data: Mapping[str, Sample], name: str, repeat: int) -> dict[str, Any]:
    """Return the outcome of every pipeline and method on one split of one sample."""
    sample = data[name]
    cohort, rows = draw(sample, repeat, settings.seed)
    problem = prepare(cohort, np.asarray(cohort.group), rows, settings.regions)
    compared = pipelines(repeat) | {method.label: method.make() for method in grid()}
    regions = (len(cohort.regions), problem.train.shape[1])
    noted = {"overlap": sample.overlap, "sizes": sample.sizes, "regions": regions}
    return noted | as_columns(evaluate_all(compared, problem))


def read(stored: dict[str, Arrays]) -> dict[str, Outcomes]:
    """Return the outcomes by sample."""
    return gather(stored, Outcome._fields, DESCRIPTIONS)
