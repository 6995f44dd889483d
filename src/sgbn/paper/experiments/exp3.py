"""Exp-III: does discriminative learning help to classify subjects by group? (Section 5.3).

Real tables are split many times at random into a training and a test part. Simulated cohorts are
drawn again for each split. Everything is learned from the training part only, including the choice
of 40 regions (`sgbn.paper.experiments.experiment`). Then all methods and their peers
(`sgbn.learn.peers`) classify the same test rows.

A `Method` is a rule that classifies by networks, with its settings. One factor is varied at a time,
as in the paper's figure: the sparsity or the number of edges that are moved. For the paper's last
claim, the fitting error that may be added is varied too.

The canary of Exp-III (`shuffle_outcomes`) is the same pipelines with labels that are shuffled over
the subjects. Shuffled labels contain no information. If the mean balanced accuracy of a pipeline
then differs from one half, information has leaked from the test part into training. A control that
chooses its regions by all rows shows that the canary detects such a leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import InputError
from sgbn.core.types import Array
from sgbn.inference.intervals import LEVEL, Estimate, average, estimate
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.peers import COVARIATES_ALONE, peers
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.experiments.experiment import (
    Experiment,
    Files,
    Outcome,
    Outcomes,
    Rows,
    Tasks,
    as_columns,
    evaluate,
    evaluate_all,
    gather,
    messages,
    one_site,
    prepare,
    read_rows,
    real_tables,
    repeats,
    require_two_groups,
    splits,
    table,
)
from sgbn.paper.fisher_svm import FisherSVMClassifier
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.missing import RegionImputer
from sgbn.prepare.selection import RegionSelector
from sgbn.runs.files import Arrays
from sgbn.write.draw.style import literal, method_styles

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
    settings = product(networks, VARIED[varied])
    return [Method(network, bias, rule, **numbers) for network, numbers in settings]


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
    real = {name: to_split(cohort, settings.sizes) for name, cohort in tables.items()}
    for name in ("cobre", "ixi"):
        if name in tables:
            real[f"{name}{SMALLER}"] = to_split(tables[name], settings.smaller)
    sizes = (settings.sizes[0], SIMULATED_TEST)
    return real | {name: Sample(sizes, differ=differ) for name, differ in SIMULATED.items()}


def to_split(cohort: Cohort, sizes: tuple[int, int]) -> Sample:
    """Return the sample of a table; raise InputError unless it has two groups and enough rows."""
    require_two_groups(cohort)
    if sum(sizes) > len(cohort):
        raise InputError("split.few", n=len(cohort), train=sizes[0], test=sizes[1]).says(
            "the table has {n:subject}, fewer than {train} for training and {test} for testing",
            "Give smaller {train=} and {test=}.",
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


SHUFFLES = 50  # default number of shuffles
SHUFFLED = "shuffle"  # name of the only sample
MIN_SHUFFLES = 20  # with fewer, intervals are so wide that they would hide nearly every leak
CONTROL = "control: regions chosen by all rows, shrinkage LDA"
LEAKING = "shrinkage LDA"  # the classifier of the control
# The findings on the control in other words: its leak must be caught.
ON_CONTROL = {"yes": "**yes: not caught**", "**no**": "no: caught"}
REGIONS = 90  # number of regions of the simulated cohort, which is used if there is no table


def choose_sample(settings: Settings, data: Mapping[str, Sample]) -> Sample:
    """Return the table with the most regions, or a simulated cohort if there is no table.

    The more regions there are, the more the control has to choose from.
    """
    # Sizes break ties between COBRE or IXI and their smaller splits, which have the same regions.
    tables = [(len(s.cohort.regions), s.sizes, s) for s in data.values() if s.cohort is not None]
    if tables:
        return max(tables, key=lambda table: table[:2])[2]
    cohort = Sample(settings.sizes).simulate(settings.seed, regions=REGIONS)
    return Sample(settings.sizes, cohort)


def all_pipelines(seed: int) -> dict[str, Any]:
    """Return everything that Exp-III compares, with the paper's methods at their base settings."""
    return pipelines(seed) | {method.label: method.make() for method in at_base()}


def shuffle_outcomes(
    sample: Sample, shuffle: int, settings: Settings, classifiers: Mapping[str, Any]
) -> dict[str, Outcome]:
    """Return the outcomes of the pipelines, and of the control, on one shuffle of the labels.

    If all regions are kept, there is no control, because it would have nothing to choose.
    """
    # The last 1 makes the stream of random numbers differ from the stream of the splits.
    rng = np.random.default_rng([settings.seed, shuffle, 1])
    cohort, rows = draw(sample, shuffle, settings.seed)
    y = np.asarray(cohort.group).copy()
    # Shuffling within each part keeps the shares of the groups in both parts.
    for part in rows:
        y[part] = rng.permutation(y[part])
    problem = prepare(cohort, y, rows, settings.regions)
    outcomes = evaluate_all(classifiers, problem)
    if settings.regions < len(cohort.regions):
        # The test part takes part in the choice of regions. The canary must notice this leak.
        peeked = _peek(cohort, y, np.concatenate(rows), settings.regions)
        leaky = prepare(peeked, y, rows, settings.regions)
        outcomes[CONTROL] = evaluate(peers(shuffle)[LEAKING], leaky)
    return outcomes


def _peek(cohort: Cohort, y: NDArray[Any], rows: NDArray[Any], regions: int) -> Cohort:
    """Keep the regions most strongly related to y in these rows. Gaps are filled from all rows."""
    filled = RegionImputer().fit_transform(cohort.values[rows])
    leak = RegionSelector(regions).fit(filled, y[rows])
    return cohort.subset(regions=np.array(cohort.regions)[leak.support_].tolist())


def work_on_shuffle(
    settings: Settings, data: Mapping[str, Sample], name: str, repeat: int
) -> dict[str, Any]:
    """Return the outcomes of one shuffle."""
    return as_columns(shuffle_outcomes(data[name], repeat, settings, all_pipelines(repeat)))


def read_shuffles(stored: dict[str, Arrays]) -> dict[str, Array]:
    """Return the balanced accuracies of each pipeline."""
    [outcomes] = gather(stored, ["balanced"], [SHUFFLED]).values()
    return {method: outcomes.of(method, "balanced") for method in outcomes.methods}


class Verdict(NamedTuple):
    """Mean balanced accuracy of a pipeline over the shuffles, its joint interval, and a finding.

    `finding` says whether one half is within the interval, or that there are too few shuffles.
    """

    mean: float
    low: float
    high: float
    finding: str


def verdicts(outcomes: Mapping[str, Array]) -> dict[str, Verdict]:
    """Return the verdict on each pipeline. The intervals hold jointly (Bonferroni).

    Given the regions, shuffles are independent, so no correction for overlap is needed.

    Parameters
    ----------
    outcomes : mapping of str to array
        Name of each pipeline, and its balanced accuracies: one per shuffle.
    """
    # Among many separate intervals of 95 %, some would miss one half by chance alone.
    level = 1 - (1 - LEVEL) / max(len(outcomes), 1)
    result = {}
    for name, values in outcomes.items():
        mean, _, df = seen = estimate(values, 0.0)
        low, high = seen.interval(level)
        finding = "yes" if low <= 0.5 <= high else "**no**"
        if df + 1 < MIN_SHUFFLES:
            finding = "too few shuffles"
        result[name] = Verdict(mean, low, high, "not measured" if np.isnan(mean) else finding)
    return result


def report_of_shuffles(outcomes: dict[str, Array], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of the report: a sentence on all pipelines, and one row per verdict."""
    # The control is judged separately, because it would widen the joint intervals.
    control = verdicts({name: outcomes[name] for name in [CONTROL] if name in outcomes})
    honest = verdicts({name: outcomes[name] for name in outcomes if name != CONTROL})
    return {
        "pipelines": _on_pipelines(honest, settings["splits"]),
        "verdicts": [_row(*pair) for pair in (honest | control).items()],
    }


def _on_pipelines(of: Mapping[str, Verdict], shuffles: int) -> str:
    """Return a sentence on all pipelines together."""
    if shuffles < MIN_SHUFFLES:
        few = f"{shuffles} shuffles are too few for verdicts"
        return f"{few}: give at least {MIN_SHUFFLES} (--splits)."
    rest = [f"; {seen.finding}: {name}" for name, seen in of.items() if seen.finding != "yes"]
    within = f"{len(of) - len(rest)} of {len(of)} pipelines: 0.5 is within the joint interval"
    return f"{shuffles} shuffles, {within}{''.join(rest)}."


def _row(name: str, verdict: Verdict) -> list[str]:
    # With a single shuffle there is no spread, and the interval is left empty.
    mean, low, high = ("" if np.isnan(x) else f"{x:.3f}" for x in verdict[:3])
    # One half within the interval is good for a pipeline, but a leak missed for the control.
    words = ON_CONTROL if name == CONTROL else {}
    finding = words.get(verdict.finding, verdict.finding)
    return [name, mean, f"{low} to {high}" if low else "", finding]


CANARY = Experiment("canary", tasks, work_on_shuffle, read_shuffles, report_of_shuffles)


Results = dict[str, Outcomes]  # by sample

CLAIMS = read_rows("exp3_claims.csv")
POINTS = 100.0  # points per unit of accuracy
MIN_SPLITS = 10  # with fewer, a few lucky splits can give an interval that decides
GAIN = 10.0  # points: the lower end of the paper's "10 % to 20 %"
PAPERS = ("KL-SGBN", "MM-SGBN")  # moved networks in the paper
NEGLIGIBLE = 1e-6  # relative increase of fitting error that is only round-off
ROWS = (  # rows of the figure: title, rule, what is varied, networks
    ("SGBN classifier", LIKELIHOOD, "alpha", NETWORKS),
    ("SGBN classifier", LIKELIHOOD, "edges moved", MOVED),
    ("SVM, full length", SVM, "alpha", NETWORKS),
    ("SVM, 100 components", SVM_100, "alpha", NETWORKS),
    ("SGBN classifier", LIKELIHOOD, "slack", MOVED),
)
STYLES = method_styles(NETWORKS)


def simulated(results: Results) -> list[str]:
    """Return the names of the simulated samples."""
    # Simulated cohorts are independent and do not overlap; splits of one table always overlap.
    return [name for name, outcomes in results.items() if outcomes.noted["overlap"] == 0]


def real(results: Results) -> list[str]:
    """Return the names of the real tables in the larger split sizes. Means are taken over these."""
    # The smaller splits have the same subjects, so a mean over both would count a table twice.
    larger = [name for name in results if not name.endswith(SMALLER)]
    return [name for name in larger if name not in simulated(results)]


def report(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slots of the report: our methods, the peers, and the paper's claims."""
    return {
        "data": _data(results),
        "claims": claims_table(results),
        "growth": _growth(results),
        "occasions": occasions_table(results),
        "accuracies": _ranked(results, "balanced"),
        "losses": _ranked(results, "log_loss"),
        "failures": messages(results, ["failure"]),
    }


def _data(results: Results) -> list[str]:
    """Return a table of the samples."""
    rows = [
        [name, _what(name, data.noted), *data.noted["sizes"], data.of(RECOMMENDED, "balanced").size]
        for name, data in results.items()
    ]
    return table(["data", "what", "training", "test", "splits or cohorts"], rows)


def _what(name: str, noted: Arrays) -> str:
    """Return a description of a sample, with the number of regions that were kept."""
    in_table, kept = noted["regions"].tolist()
    n_regions = f"{in_table}" if kept == in_table else f"{kept} of {in_table}"
    return f"{DESCRIPTIONS[name]}; {n_regions} regions"


def difference(claim: Mapping[str, str], bias: str, outcomes: Outcomes) -> Array:
    """Return the difference that a claim is about, in points, with one value per split."""
    more, less = (
        # Each side is averaged per split, so that the splits stay paired.
        np.mean([outcomes.of(method.label, "balanced") for method in side], axis=0)
        for side in sides(claim, bias)
    )
    return POINTS * more - POINTS * less


def sides(claim: Mapping[str, str], bias: str) -> list[list[Method]]:
    """Return the methods that a claim calls more accurate, and the methods compared with them."""
    return [
        methods(claim[side].split(), bias, claim[f"{side}_rule"], claim[f"{side}_at"])
        for side in ("more", "less")
    ]


def verdict(claim: Mapping[str, str], difference: Estimate) -> str:
    """Return in words whether the interval, or only the mean, agrees with the claim."""
    if np.isnan(difference.mean):
        return "not measured"
    if difference.df + 1 < MIN_SPLITS:
        return "too few splits"
    low, high = difference.interval()
    least, most = float(claim["least"]), float(claim["most"])
    if least <= low and high <= most:
        return "holds"
    if high < least or low > most:
        return "contradicted"
    return "likely" if least <= difference.mean <= most else "unlikely"


def cell(difference: Estimate) -> str:
    """Return the mean with its interval, as text.

    The interval is left out if there is a single split. Without a mean, the text is empty.
    """
    if np.isnan(difference.mean):
        return ""
    if np.isnan(difference.error):
        return f"{difference.mean:+.1f}"
    low, high = difference.interval()
    return f"{difference.mean:+.1f} ({low:+.1f} to {high:+.1f})"


def claims_table(results: Results) -> list[str]:
    """Return a table of the verdicts on all real tables together, and on each simulation."""
    rows = []
    tables, cohorts = real(results), simulated(results)
    for claim, bias in product(CLAIMS, BIASES):
        of = {n: data.estimate(difference(claim, bias, data)) for n, data in results.items()}
        # The tables have no subject in common, so that their errors are independent.
        shown = [average([of[name] for name in tables])] if tables else []
        shown += [of[name] for name in cohorts]
        cells = (f"{cell(d)} {verdict(claim, d)}".lstrip() for d in shown)
        rows.append([claim["claim"], claim["words"], bias, *cells])
    first = tables if len(tables) < 2 else ["real tables"]
    return table(["claim", "in words", "bias", *first, *cohorts], rows)


def _gains(outcomes: Outcomes, bias: str, network: str) -> Array:
    """Return the mean gain of a network over OR-SGBN at each sparsity, in points."""
    compared = methods([network, "OR-SGBN"], bias, varied="alpha")
    means = np.array([outcomes.mean(method.label, "balanced") for method in compared])
    moved, learned = POINTS * means.reshape(2, -1)
    return moved - learned


def occasions_table(results: Results) -> list[str]:
    """Return a table that counts the sparsities at which moves gain at least `GAIN` points."""
    rows = []
    for bias, network in product(BIASES, PAPERS):
        gains = np.array([_gains(outcomes, bias, network) for outcomes in results.values()])
        counts = [f"{(of_data >= GAIN).sum()} of {len(of_data)}" for of_data in gains]
        rows.append([network, bias, *counts, f"{(gains >= GAIN).mean():.0%}"])
    return table(["network", "bias", *results, "of all"], rows)


def most_growth(results: Results) -> float:
    """Return the largest relative increase of fitting error by moves with the paper's limit, 1 %.

    The result is NaN if all moves failed.
    """
    base = (N_EDGES, SLACK)
    moves = [m for m in grid() if m.network in MOVED and (m.edges, m.slack) == base]
    growth = [data.of(m.label, "growth") for data in results.values() for m in moves]
    # Unlike max, fmax ignores the NaN of moves that failed.
    return float(np.fmax.reduce(np.concatenate(growth)))


def _growth(results: Results) -> str:
    growth = most_growth(results)
    if np.isnan(growth):
        return "not measured, because every move failed"
    kept = "within" if growth <= SLACK + NEGLIGIBLE else "above"
    return f"these moves added at most {growth:.4%}, {kept} the limit of 1 %"


def _ranked(results: Results, field: str) -> list[str]:
    """Return a table of the pipelines, best first, by their mean over the real tables.

    If there are no real tables, the mean is over all data. A pipeline without the field in one of
    these tables is left out.
    """
    rows = []
    for name in (*defaults(), *peers(0), COVARIATES_ALONE):
        means = {data: outcomes.mean(name, field) for data, outcomes in results.items()}
        # A mean over fewer tables would mislead: NaN in one table makes this mean NaN.
        over = float(np.mean([means[data] for data in real(results) or results]))
        ahead = [_ahead(results, name)] if field == "balanced" else []
        shown = f"**{name}**" if name in defaults() else name
        cells = ["" if np.isnan(mean) else f"{mean:.3f}" for mean in means.values()]
        rows.append((over, [shown, f"{over:.3f}", *ahead, *cells]))
    best_first = sorted(rows, key=lambda row: -row[0] if field == "balanced" else row[0])
    gap = [f"{RECOMMENDED} ahead by"] if field == "balanced" else []
    header = ["pipeline", "mean", *gap, *results]
    return table(header, [row for over, row in best_first if not np.isnan(over)])


def _ahead(results: Results, name: str) -> str:
    """Return by how many points `RECOMMENDED` is ahead of a pipeline on the real tables."""
    # Both classify the same test rows. "Covariates alone" is missing if a table has no covariates.
    tables = [results[n] for n in real(results) if name in results[n].methods]
    if name == RECOMMENDED or not tables:
        return ""
    gaps = [
        data.estimate(POINTS * (data.of(RECOMMENDED, "balanced") - data.of(name, "balanced")))
        for data in tables
    ]
    return cell(average(gaps))


def files(results: Results) -> Files:
    """Draw one figure for each reading of the bias."""
    return {f"exp3_{bias}.png": _figure(results, bias) for bias in BIASES}


def _figure(results: Results, bias: str) -> Figure:
    shape = (len(ROWS), len(results))
    size = (1.9 * shape[1] + 1.6, 2.0 * shape[0] + 1.2)
    figure = Figure(figsize=size, layout="constrained", dpi=90)
    axes = figure.subplots(*shape, squeeze=False, sharey="col")
    for (title, rule, varied, networks), panels in zip(ROWS, axes, strict=True):
        for ax, outcomes in zip(panels, results.values(), strict=True):
            _panel(ax, outcomes, bias, rule, varied, networks)
        panels[0].set_ylabel(f"{title}\nbalanced accuracy", fontsize=8)
    for ax, (name, outcomes) in zip(axes[0], results.items(), strict=True):
        sizes = "/".join(map(str, outcomes.noted["sizes"]))
        ax.set_title(literal(f"{name.removesuffix(SMALLER)} {sizes}"), fontsize=9)
    figure.suptitle(f"Exp-III, {bias} bias: means over the splits", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    return figure


def _panel(
    ax: Any, outcomes: Outcomes, bias: str, rule: str, varied: str, networks: Iterable[str]
) -> None:
    values = [str(*settings.values()) for settings in VARIED[varied]]
    for network in networks:
        labels = [method.label for method in methods([network], bias, rule, varied)]
        means = [outcomes.mean(label, "balanced") for label in labels]
        ax.plot(means, lw=1.2, ms=3.5, label=network, **STYLES[network])
    recommended = outcomes.mean(RECOMMENDED, "balanced")
    ax.axhline(recommended, color="0.5", lw=1.0, label=RECOMMENDED)
    ax.axhline(0.5, color="0.8", lw=0.8, zorder=0)
    ax.set_xticks(range(len(values)), values, fontsize=6)
    ax.set_xlabel(varied, fontsize=7)
    ax.tick_params(axis="y", labelsize=6)


EXPERIMENT = Experiment("exp3", tasks, work, read, report, files, CANARY)
