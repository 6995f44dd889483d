"""`sgbn demo`: a network per group on a simulated cohort, beside the truth."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sgbn.cli.arguments import at_least, make_folder, number_from


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the subcommands."""
    parser = commands.add_parser(
        "demo",
        help="learn a network per group on a simulated cohort with known truth",
        description="Simulates two groups of 40 brain regions with known networks, learns a "
        "network per group, says how well it was recovered and draws it.",
        epilog="example: sgbn demo --subjects 500 --out my-demo",
    )
    parser.add_argument("--out", type=Path, default=Path("sgbn-demo"), help="folder to write to")
    parser.add_argument(
        "--subjects", type=at_least(10), default=200, help="subjects a group, 10 or more (200)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of the simulation (0)")
    parser.add_argument(
        "--gamma",
        type=number_from(0),
        help="sparsity, 0 or more; smaller gives more edges (1.15 for 200 subjects)",
    )
    parser.set_defaults(run=run, after_interrupt="Nothing is lost but the demo.")


def run(arguments: argparse.Namespace) -> None:
    """Simulate, learn, print, draw."""
    from sgbn.datasets import simulate_cohort
    from sgbn.io import edge_table
    from sgbn.structure import SGBN

    make_folder(arguments.out)
    cohort = simulate_cohort(arguments.subjects, arguments.seed)
    print(
        f"Simulated {arguments.subjects} subjects in each of 2 groups, "
        f"{len(cohort.regions)} regions, with known networks."
    )
    learners = {}
    for group in cohort.networks:
        begin = time.perf_counter()
        learner = SGBN(arguments.gamma).fit(_named(cohort.of_group(group), cohort.regions))
        learners[group] = learner
        seconds = time.perf_counter() - begin
        compiling = ", most of it compiling, once a machine" if seconds > 2 else ""
        print(
            f"Learned the network of group '{group}' in {seconds:.2f} s{compiling}: "
            f"{_count_kinds(learner)}."
        )
        edge_table(learner).to_csv(arguments.out / f"edges_{group}.csv", index=False)
    _print_recovery(cohort, learners)
    figure = _draw(cohort, learners, arguments.out)
    print(f"Wrote {figure} and a table of edges per group beside it.")


def _named(values, regions):  # type: ignore[no-untyped-def]
    import pandas as pd

    return pd.DataFrame(values, columns=list(regions))


def _count_kinds(learner) -> str:  # type: ignore[no-untyped-def]
    kinds = learner.edge_kinds_.tolist()
    return ", ".join(f"{kinds.count(kind)} edges {kind}" for kind in sorted(set(kinds)))


def _print_recovery(cohort, learners) -> None:  # type: ignore[no-untyped-def]
    from sgbn.graph import compare_graphs

    print()
    heads = ("", "true", "learned", "joined pairs", "arrows", "held-out log-lik.")
    units = ("group", "edges", "edges", "prec.  recall", "prec.  recall", "learned    truth")
    for words in (heads, units):
        print("{:10}{:>8}{:>9}{:>16}{:>16}{:>20}".format(*words))
    for group, network in cohort.networks.items():
        learner = learners[group]
        found = compare_graphs(learner.coef_, network.coef)
        fresh = network.sample(1000, 1)
        print(
            f"{group:10}{found.n_true:8d}{found.n_learned:9d}"
            f"{found.skeleton_precision:9.2f}{found.skeleton_recall:7.2f}"
            f"{found.precision:9.2f}{found.recall:7.2f}"
            f"{learner.network_.log_likelihood(fresh).mean():11.1f}"
            f"{network.log_likelihood(fresh).mean():9.1f}"
        )
    n_true = compare_graphs(*cohort.networks.values()).errors
    n_learned = compare_graphs(*(learner.network_ for learner in learners.values())).errors
    print()
    print(f"Arrows in one group only: {n_true} in truth, {n_learned} learned. Most of those")
    print("learned are chance: a difference between two learned networks is no finding by itself.")
    print("A direction is 'compelled' if the data decide it, provided that the edges around it are")
    print("right; a 'reversible' one fits as well the other way. The tables say which is which.")


def _draw(cohort, learners, folder: Path) -> Path:  # type: ignore[no-untyped-def]
    from matplotlib.figure import Figure

    from sgbn.datasets.group_networks import standardised
    from sgbn.viz import plot_recovery

    true = {group: standardised(network) for group, network in cohort.networks.items()}
    learned = {group: learner.coef_std_ for group, learner in learners.items()}
    figure = Figure(figsize=(9, 13), layout="constrained")
    plot_recovery(figure, true, learned, cohort.regions, cohort.lobes)
    path = folder / "networks.png"
    figure.savefig(path, dpi=200)
    return path
