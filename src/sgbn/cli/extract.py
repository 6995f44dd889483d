"""`sgbn extract` measures the regions of an atlas in images, and writes a table."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.options import (
    add_command,
    add_options,
    add_worker_options,
    make_folder,
    options_of,
    workers,
    write_whole,
)
from sgbn.core.problems import Problem, counted, listed, names_people

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.read.extract import Extraction


MAX_LISTED = 10  # number of failures or subjects that are printed; the files have all


def add_extract(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extract` to the subcommands."""
    parser = add_command(commands, "extract", run_extract)
    add_options(parser, options_of("extract"))
    add_worker_options(parser, 1)


def run_extract(arguments: argparse.Namespace) -> None:
    """Find the images, measure them, write the tables and print a summary."""
    from sgbn.read.volumes import find_images

    # The atlas may be in the folder of the images, but is not one of them.
    exclude = [path for path in (arguments.atlas, arguments.labels) if path]
    images = find_images(arguments.images, exclude)
    make_folder(arguments.out)  # fails at once, not after hours of work, if it is not writable
    if arguments.dask or arguments.slurm:  # workers may start in another folder
        images = [path.absolute() for path in images]
        arguments.out = arguments.out.absolute()
    common: dict[str, Any] = {
        "labels": arguments.labels,
        "min_coverage": arguments.min_coverage,
        "download": arguments.download,
        "on_error": arguments.on_error,
    }
    measure = _run_series if arguments.time_series else _run_regions
    with workers(arguments) as n_jobs:
        measure(images, arguments, common | {"n_jobs": n_jobs})


def _run_regions(images: list[Path], arguments: argparse.Namespace, common: dict[str, Any]) -> None:
    from sgbn.read.extract import extract_regions
    from sgbn.read.label_atlas import write_places
    from sgbn.read.roles import EXTRACTED

    out = arguments.out
    extraction = extract_regions(
        images, arguments.atlas, measure=arguments.measure, folder=out / "images", **common
    )
    subjects = extraction.quality.subjects
    write_whole(extraction.table(), out / "regions.csv")
    write_whole(subjects, out / "quality_subjects.csv")
    write_whole(extraction.quality.regions, out / "quality_regions.csv")
    # Beside the table, where `sgbn compare` looks for it.
    write_places(extraction.atlas, out / EXTRACTED)
    _draw(extraction, out / "quality.png")
    unit = "volumes in mm^3" if extraction.measure == "volume" else "means"
    print(
        f"Measured {counted(len(extraction.regions), 'region')} in "
        f"{counted(len(extraction.ids), 'image')} ({unit})."
    )
    if subjects["resampled"].any():
        print(
            "The atlas was resampled to the grid of "
            f"{counted(int(subjects['resampled'].sum()), 'image')}."
        )
    _print_flagged(subjects)
    _report_failures(extraction.failures, out)
    print(f"Wrote {out / 'regions.csv'}, and beside it quality_subjects.csv, quality_regions.csv")
    print(
        f"and quality.png: look at them before you go on. {EXTRACTED} has the places of the "
        "regions."
    )
    _print_next(out / "regions.csv")


def _run_series(images: list[Path], arguments: argparse.Namespace, common: dict[str, Any]) -> None:
    from sgbn.read.extract import write_time_series
    from sgbn.read.roles import EXTRACTED

    subjects, failures = write_time_series(images, arguments.atlas, arguments.out, **common)
    write_whole(subjects, arguments.out / "quality_subjects.csv")
    lengths = sorted(set(subjects["volumes"]))
    volumes = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    print(
        f"Wrote {counted(len(subjects), 'table')} of {volumes} volumes to {arguments.out}, one per "
        "subject."
    )
    print(f"Beside them are quality_subjects.csv, and {EXTRACTED} with the places of the regions.")
    _print_flagged(subjects)
    _report_failures(failures, arguments.out)
    _print_next(arguments.out)


def _print_next(source: Path) -> None:
    """Print the command that compares what was extracted, as the last line."""
    print("Next, with a table of the subjects that has a column with their groups:")
    print(
        f"  sgbn compare {shlex.quote(str(source))} --participants participants.tsv --group GROUP "
        "--out results"
    )


def _draw(extraction: Extraction, path: Path) -> None:
    from matplotlib.figure import Figure

    from sgbn.prepare.balance import robust_z
    from sgbn.read.extract import MIN_GOOD_COVERAGE
    from sgbn.write.draw.accuracy import plot_quality

    # In inches: large enough for a label of each subject and region, but not too large to open.
    n, m = extraction.values.shape
    width, height = min(4 + 0.1 * m, 24), min(3.5 + 0.1 * n, 20)
    # Without pyplot, which keeps figures open and may need a display.
    figure = Figure(figsize=(max(width, 7), max(height, 5)), layout="constrained")
    z = robust_z(extraction.values)
    plot_quality(
        figure, z, extraction.coverage, extraction.ids, extraction.regions, full=MIN_GOOD_COVERAGE
    )
    figure.savefig(path, dpi=150)


def _print_flagged(subjects: pd.DataFrame) -> None:
    flagged = subjects.loc[subjects["flagged"], "subject_id"].tolist()
    if flagged:
        names = f": {listed(flagged, MAX_LISTED)}" if names_people() else ""
        print(f"{counted(len(flagged), 'subject needs', 'subjects need')} a look{names}.")
    else:
        print("No subject is flagged.")


def _report_failures(failures: dict[str, Problem], out: Path) -> None:
    """Print the first images that were left out, and write failures.csv with all of them.

    If no image was left out, the file is removed.
    """
    from sgbn.write.tables import frame_of

    # The file of an earlier run may name images that have been measured since then.
    path = out / "failures.csv"
    if not failures:
        path.unlink(missing_ok=True)
        return
    write_whole(frame_of(failures.items(), ["subject_id", "reason"]), path)
    print(
        f"{counted(len(failures), 'image was', 'images were')} left out (see {path}). If you "
        "run the command again, it tries them again."
    )
    if names_people():
        for subject, message in list(failures.items())[:MAX_LISTED]:
            print(f"  {subject}: {message}")
        if len(failures) > MAX_LISTED:
            print(f"  ... and {len(failures) - MAX_LISTED} more.")
