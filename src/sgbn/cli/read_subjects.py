"""`sgbn read-subjects` makes a table of regions from FreeSurfer, FastSurfer or CAT12 folders."""

from __future__ import annotations

import argparse
import shlex
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.options import add_command, add_options, folder_of_results, options_of, write_whole
from sgbn.core.problems import InputError, counted, listed, names_people

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.read.subjects import SubjectsTable


REGIONS, QUALITY, FAILED = "regions.csv", "quality.csv", "failed.csv"
VISITS = "participants_visits.csv"  # one row per visit, if the user's table lists persons
MAX_LISTED = 10  # number of failed subjects that are printed; the file has all


def add_read_subjects(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `read-subjects` to the subcommands."""
    add_options(
        add_command(commands, "read-subjects", run_read_subjects), options_of("read-subjects")
    )


def run_read_subjects(arguments: argparse.Namespace) -> None:
    """Read the folder, write the tables and print a summary."""
    from sgbn.read.subjects import LeftOutWarning

    with folder_of_results(arguments.out) as out, warnings.catch_warnings():
        # Hidden, because `_what_was_not` lists the failed subjects as well.
        warnings.simplefilter("ignore", LeftOutWarning)
        _refuse_to_replace(arguments.participants, out)
        collected = _collect(arguments)
        joined = _joined(collected, arguments.participants, out)
        write_whole(collected.table, out / REGIONS)
        write_whole(collected.quality, out / QUALITY)
        # Written even without rows, because the file of an earlier run must not stay.
        write_whole(joined.failed, out / FAILED)
    _sum_up(collected, joined, arguments)


def _collect(arguments: argparse.Namespace) -> SubjectsTable:
    from sgbn.read.subjects import collect_subjects

    return collect_subjects(
        arguments.folder,
        parcellation=arguments.parcellation,
        measure=arguments.measure,
        aseg=arguments.aseg,
        # The user may give a name twice.
        segmentations=list(dict.fromkeys(arguments.segmentations or ())),
        stream=arguments.stream,
        on_error=arguments.on_error,
    )


def _sum_up(collected: SubjectsTable, joined: _Joined, arguments: argparse.Namespace) -> None:
    """Print what was read, what was left out, and the next command."""
    out = arguments.out
    for line in (*_what_was_read(collected), *_what_was_not(collected, joined.failed)):
        print(line)
    beside = f"{QUALITY} and {FAILED}"
    if joined.unlisted:
        who = counted(len(joined.unlisted), "subject is", "subjects are")
        names = f": {listed(joined.unlisted)}" if names_people() else ""
        print(f"{who} not listed in {arguments.participants}{names}.")
    if joined.path == out / VISITS:
        beside = f"{QUALITY}, {FAILED} and {VISITS} (participants, one row per visit)"
    print(f"Wrote {out / REGIONS}, and beside it {beside}. Next:")
    print(f"  {next_command(collected, out, joined)}")


def _refuse_to_replace(participants: Path | None, out: Path) -> None:
    """Raise InputError if the command would overwrite the table of participants."""
    if participants is None or not participants.exists():
        return
    for path in (out / name for name in (REGIONS, QUALITY, FAILED, VISITS)):
        # Not compared by path, because another path or a link may name the same file.
        if path.exists() and path.samefile(participants):
            raise InputError("participants.replaced", file=participants).says(
                "{file} ({participants=}) would be replaced by a file that this command writes",
                "Give another folder ({out=}), or rename the file.",
            )


@dataclass(frozen=True)
class _Joined:
    """What the table of participants adds to the subjects that were read.

    Attributes
    ----------
    path : Path
        The table of participants for the next command.
    failed : DataFrame
        Subjects who could not be read, and participants who have no folder.
    unlisted : list of str
        Subjects whom the table of participants does not list.
    """

    path: Path
    failed: pd.DataFrame
    unlisted: list[str]


def _joined(collected: SubjectsTable, path: Path | None, out: Path) -> _Joined:
    """Compare subjects with participants; if these are persons, also write a table of visits."""
    from sgbn.read.subjects import PARTICIPANT, participants_by_visit
    from sgbn.read.table import absent_ids
    from sgbn.write.tables import frame_of

    if path is None:  # the user must replace this name in the next command
        return _Joined(Path("participants.tsv"), collected.failed, [])
    people, visits = participants_by_visit(collected, path)
    table, failed = collected.table, collected.failed
    ids, persons = list(table["subject_id"]), list(table.get("person", ()))
    # Participants may be listed by visit or by person. Subjects who failed do have a folder.
    absent = absent_ids(people.ids, [*ids, *persons, *failed["subject_id"]])
    reason = f"listed in {path.name}, but without a folder"
    rows = [*failed.to_numpy().tolist(), *((name, "", reason) for name in absent)]
    failed = frame_of(rows, list(failed))
    if visits is None:
        return _Joined(path, failed, absent_ids(ids, people.ids))
    write_whole(visits, out / VISITS)
    return _Joined(out / VISITS, failed, absent_ids(ids, list(visits[PARTICIPANT])))


def _what_was_read(collected: SubjectsTable) -> list[str]:
    facts, quality = collected.facts, collected.quality
    versions = ", ".join(f"{name} ({count})" for name, count in facts["versions"].items())
    lines = [
        f"Read {counted(len(collected.regions), 'region')} of "
        f"{counted(len(collected.table), 'subject')}: {_what(facts)}.",
        f"Software: {versions}.",
    ]
    if facts.get("other_parcellations"):
        lines.append(
            f"There are also {listed(facts['other_parcellations'])} (choose with --parcellation)."
        )
    # One line for each combination of missing files, not for each subject.
    for missing, count in quality["missing"][quality["missing"] != ""].value_counts().items():
        lines.append(f"{counted(count, 'subject has', 'subjects have')} no {missing}.")
    if facts.get("stream") == "longitudinal":
        lines.append("These are longitudinal runs (--stream cross reads the cross-sectional runs).")
    if "person" in collected.table:
        lines.append("Some persons have several visits: the column person names the person.")
    return lines


def _what(facts: dict[str, Any]) -> str:
    """Return which measure of which parcellation was read, and which further files."""
    # The files of the parcellation itself are left out, because its name is shown.
    further = [name for name in facts.get("files", ()) if str(facts["parcellation"]) not in name]
    cortex = f"{facts['measure']} of {facts['parcellation']}" if facts["parcellation"] else ""
    return "; volumes of ".join(part for part in (cortex, ", ".join(further)) if part)


def _what_was_not(collected: SubjectsTable, failed: pd.DataFrame) -> list[str]:
    facts = collected.facts
    lines = []
    for key, words in (
        ("templates", "Skipped templates"),
        ("bases", "Skipped longitudinal bases"),
        ("averages", "Skipped averages of longitudinal runs"),
        ("other_folders", "Folders that are not subjects"),
    ):
        if names := facts.get(key):
            # Names of folders and files are those of subjects, except templates.
            shown = listed(names) if key == "templates" or names_people() else len(names)
            lines.append(f"{words}: {shown}.")
    if len(failed):
        who = counted(len(failed), "subject is", "subjects are")
        lines.append(f"{who} not in the table (see {FAILED}).")
    if len(failed) and names_people():
        first = failed.head(MAX_LISTED).itertuples(index=False)
        lines += [f"  {subject.subject_id}: {subject.reason}" for subject in first]
        if len(failed) > MAX_LISTED:
            lines.append(f"  ... and {len(failed) - MAX_LISTED} more.")
    return lines


def next_command(collected: SubjectsTable, out: Path, joined: _Joined) -> str:
    """Return the next command; the user must replace its words in capitals."""
    from sgbn.cohort.region_names import match_columns
    from sgbn.read.freesurfer import parcellation_atlas

    columns = list(collected.table.columns)
    by_names = match_columns(columns)  # what `sgbn check` would find without --atlas
    atlas = parcellation_atlas(collected.facts["parcellation"]) or by_names.atlas
    words = ["sgbn", "check", str(out / REGIONS)]
    words += ["--participants", str(joined.path)]
    # If no subject is listed, the ids are probably written differently. Dropping all would hide it.
    if 0 < len(joined.unlisted) < len(collected.table):
        words += ["--participants-missing", "drop"]
    words += ["--group", "COLUMN"]
    # FreeSurfer calls it eTIV, and CAT12 calls it TIV.
    etiv = [name for name in ("eTIV", "TIV") if name in collected.table]
    if etiv:
        words += ["--covariates", *etiv]
    if "person" in collected.table:
        # Visits of one person are not independent.
        words += ["--subject", "person"]
    # If the names fit no other atlas, `sgbn check` finds the atlas without --atlas.
    if atlas is not None and (atlas != by_names.atlas or by_names.others):
        words += ["--atlas", atlas.name]
    # Without --regions all, only the regions of the atlas would be read.
    if set(match_columns(columns, atlas).unmatched).intersection(collected.regions):
        words += ["--regions", "all"]
    return shlex.join(words)
