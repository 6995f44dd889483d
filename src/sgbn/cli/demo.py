"""`sgbn demo`: the main job on a simulated cohort, beside the truth."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.arguments import add_worker_options, at_least, make_folder, number_from
from sgbn.cli.compare import compare_and_write, ensemble_of
from sgbn.cli.help import examples
from sgbn.cli.options import SUBJECTS_IN_REPORT, add_options

if TYPE_CHECKING:
    from sgbn.comparison import Comparison
    from sgbn.datasets.cohort import SimulatedCohort


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the subcommands."""
    parser = commands.add_parser(
        "demo",
        help="compare two simulated groups whose networks are known",
        description="Simulates two groups of 40 brain regions with known networks, compares them "
        "as `sgbn compare` does with a table, and says how well the truth was found.",
        epilog=examples(
            {
                "sgbn demo": "writes sgbn-demo/report.html",
                "sgbn demo --subjects 500 --out my-demo": "what more subjects would show",
            }
        ),
    )
    parser.add_argument("--out", type=Path, default=Path("sgbn-demo"), help="folder to write to")
    parser.add_argument(
        "--subjects", type=at_least(10), default=200, help="subjects per group, 10 or more (200)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of the simulation (0)")
    parser.add_argument(
        "--gamma",
        type=number_from(0),
        help="sparsity, 0 or more; smaller gives more edges (0.75)",
    )
    add_options(parser, (SUBJECTS_IN_REPORT,))
    add_worker_options(parser)
    parser.set_defaults(run=run, after_interrupt="Start it again to go on.")


def run(arguments: argparse.Namespace) -> None:
    """Simulate, compare, print."""
    from sgbn.comparison import Settings
    from sgbn.datasets import simulate_cohort

    make_folder(arguments.out)
    cohort = simulate_cohort(arguments.subjects, arguments.seed)
    print(
        f"Simulated {arguments.subjects} subjects in each of 2 groups, "
        f"{len(cohort.regions)} regions, with known networks."
    )
    settings = Settings.quick(seed=arguments.seed, deviations=True)
    learner = ensemble_of(settings, arguments.gamma)
    comparison = compare_and_write(cohort, settings, learner, arguments)
    _print_recovery(cohort, comparison)


def _print_recovery(cohort: SimulatedCohort, comparison: Comparison) -> None:
    from sgbn.graph import compare_graphs

    print("\nHow much of the truth was found")
    heads = ("", "true", "learned", "joined pairs", "arrows", "held-out log-lik.")
    units = ("group", "edges", "edges", "prec.  recall", "prec.  recall", "learned    truth")
    for words in (heads, units):
        print("  {:10}{:>8}{:>9}{:>16}{:>16}{:>20}".format(*words))
    for group, network in cohort.networks.items():
        learner = comparison.learners[group]
        found = compare_graphs(learner.coef_, network.coef)
        fresh = network.sample(1000, 1)
        print(
            f"  {group:10}{found.n_true:8d}{found.n_learned:9d}"
            f"{found.skeleton_precision:9.2f}{found.skeleton_recall:7.2f}"
            f"{found.precision:9.2f}{found.recall:7.2f}"
            f"{learner.network_.log_likelihood(fresh).mean():11.1f}"
            f"{network.log_likelihood(fresh).mean():9.1f}"
        )
    table = comparison.tables.differences
    if "differences" in comparison.skipped:
        print(f"  The differences were not tested: {comparison.skipped['differences']}")
        return
    for by, how in (("q_both", "both ways"), ("q", "as the arrow is written")):
        own = table[table[by] <= comparison.settings.level]
        print(
            f"  Of {len(own)} edges found to differ {how} {own['true_change'].sum()} do in truth."
        )
    print(f"  {table['true_change'].sum()} of {len(table)} tested edges do.")
