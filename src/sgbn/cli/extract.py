"""`sgbn extract`: a table of regions from images."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import add_worker_options, make_folder, number_from, workers
from sgbn.cli.help import examples
from sgbn.exceptions import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.io.images.extraction import Extraction

MAX_LISTED = 10  # failures or subjects that are printed; the files have all


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extract` to the subcommands."""
    parser = commands.add_parser(
        "extract",
        help="measure the regions of an atlas in images, one row per subject",
        description="Measures the regions of a label atlas in one NIfTI image a subject: volumes "
        "from grey-matter maps, means from PET or any other map, time series from four-dimensional "
        "runs. The images must be normalised to the space of the atlas (by SPM, CAT12, ANTs, "
        "fMRIPrep, ...). atlas.csv has hemisphere, lobe, centre and volume of each region, for the "
        "pictures of sgbn compare. What is finished is kept: started again, the command does only "
        "what is missing, failed or has changed.",
        epilog=examples(
            {
                "sgbn extract 'cat12/mri/mwp1*.nii' --atlas aal.nii --labels aal.txt --workers 2 "
                "--out volumes": "grey matter volumes, for sgbn compare volumes/regions.csv",
                "sgbn extract 'fmri/*_bold.nii.gz' --atlas schaefer --download --time-series --out "
                "series": "signals over time, by an atlas that nilearn downloads",
            }
        ),
    )
    parser.add_argument(
        "images", nargs="+", metavar="IMAGES", help="image files, patterns in quotes, or folders"
    )
    parser.add_argument(
        "--atlas",
        required=True,
        help="label image, or with --download: aal, destrieux, harvard_oxford, schaefer, "
        "schaefer200, ...",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        help="names of the labels: a table with index and name (and lobe or network, which go to "
        "atlas.csv), a FreeSurfer colour table, or FSL's XML (the file of the same name beside the "
        "atlas)",
    )
    parser.add_argument(
        "--measure",
        choices=("volume", "mean"),
        default="volume",
        help="volume: sum of the voxels times their volume, for tissue maps; mean: for all else; "
        "0 counts as outside its mask (volume)",
    )
    parser.add_argument(
        "--time-series",
        action="store_true",
        help="mean signal over time of four-dimensional images, one table per subject",
    )
    _add_ways(parser)
    parser.set_defaults(
        run=run, after_interrupt="What was finished is kept: the same command goes on from there."
    )


def _add_ways(parser: argparse.ArgumentParser) -> None:
    """Add what says how to run, not what to measure."""
    parser.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="a bad image ends the run, or is reported and left out (raise)",
    )
    parser.add_argument(
        "--min-coverage",
        type=number_from(0, 1),
        default=0.5,
        metavar="SHARE",
        help="an image with values in a smaller share of the atlas is bad (0.5)",
    )
    add_worker_options(parser, 1)
    parser.add_argument(
        "--download", action="store_true", help="let nilearn download the atlas that is named"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")


def run(arguments: argparse.Namespace) -> None:
    """Find the images, measure them, write and sum up."""
    from sgbn.io.images.files import find_images

    # An atlas may lie among the images, and is none of them.
    exclude = [path for path in (arguments.atlas, arguments.labels) if path]
    images = find_images(arguments.images, exclude)
    make_folder(arguments.out)  # before hours of work
    if arguments.dask or arguments.slurm:  # workers start from folders of their own
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
    from sgbn.io.images.extraction import extract_regions
    from sgbn.io.images.places import write_places
    from sgbn.io.tables.extracted import EXTRACTED

    out = arguments.out
    extraction = extract_regions(
        images, arguments.atlas, measure=arguments.measure, folder=out / "images", **common
    )
    subjects = extraction.quality.subjects
    _write(extraction.table(), out / "regions.csv")
    _write(subjects, out / "quality_subjects.csv")
    _write(extraction.quality.regions, out / "quality_regions.csv")
    # Beside the table, where readers look for it.
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
        f"and quality.png: look at them before you go on. {EXTRACTED} says where the regions lie."
    )
    _print_next(out / "regions.csv")


def _run_series(images: list[Path], arguments: argparse.Namespace, common: dict[str, Any]) -> None:
    from sgbn.io.images.time_series import write_time_series
    from sgbn.io.tables.extracted import EXTRACTED

    subjects, failures = write_time_series(images, arguments.atlas, arguments.out, **common)
    _write(subjects, arguments.out / "quality_subjects.csv")
    lengths = sorted(set(subjects["volumes"]))
    volumes = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    print(
        f"Wrote {counted(len(subjects), 'table')} of {volumes} volumes to {arguments.out}, such as"
    )
    print(
        f"{subjects['file'][0]}, quality_subjects.csv and {EXTRACTED}, the places of the regions."
    )
    _print_flagged(subjects)
    _report_failures(failures, arguments.out)
    _print_next(arguments.out)


def _print_next(source: Path) -> None:
    """Print how to compare what was extracted, as the last line."""
    print("Next, with a table of the subjects that has a column of their groups:")
    print(
        f"  sgbn compare {shlex.quote(str(source))} --participants participants.tsv --group GROUP "
        "--out results"
    )


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a table that is whole or absent."""
    from sgbn.runs import write_atomically

    write_atomically(path, lambda stream: table.to_csv(stream, index=False))


def _draw(extraction: Extraction, path: Path) -> None:
    from matplotlib.figure import Figure

    from sgbn.io.images.quality import MIN_GOOD_COVERAGE
    from sgbn.quality import robust_z
    from sgbn.viz.quality import plot_quality

    # In inches: room for a label of each subject and region, up to a size that can be opened.
    n, m = extraction.values.shape
    width, height = min(4 + 0.1 * m, 24), min(3.5 + 0.1 * n, 20)
    # Not by pyplot, which keeps figures open and may ask for a display.
    figure = Figure(figsize=(max(width, 7), max(height, 5)), layout="constrained")
    z = robust_z(extraction.values)
    plot_quality(
        figure, z, extraction.coverage, extraction.ids, extraction.regions, full=MIN_GOOD_COVERAGE
    )
    figure.savefig(path, dpi=150)


def _print_flagged(subjects: pd.DataFrame) -> None:
    flagged = subjects.loc[subjects["flagged"], "subject_id"].tolist()
    if flagged:
        print(
            f"{counted(len(flagged), 'subject needs', 'subjects need')} a look: "
            f"{listed(flagged, MAX_LISTED)}."
        )
    else:
        print("No subject is flagged.")


def _report_failures(failures: dict[str, str], out: Path) -> None:
    """Print the images that were left out, and list all in a table, which is absent if none."""
    import pandas as pd

    # The list of an earlier start would name images that have been measured since.
    path = out / "failures.csv"
    if not failures:
        path.unlink(missing_ok=True)
        return
    _write(pd.DataFrame(failures.items(), columns=["subject_id", "reason"]), path)
    print(
        f"{counted(len(failures), 'image was', 'images were')} left out ({path}); the next start "
        "tries them again:"
    )
    for subject, message in list(failures.items())[:MAX_LISTED]:
        print(f"  {subject}: {message}")
    if len(failures) > MAX_LISTED:
        print(f"  ... and {len(failures) - MAX_LISTED} more.")
