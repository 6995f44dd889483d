"""The reader of folders of FreeSurfer, FastSurfer and CAT12 subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.region_names import match_columns
from sgbn.io.subjects.collection import CAT12, ID, PERSON, SubjectsTable, collect_subjects
from sgbn.io.subjects.layouts import parcellation_atlas
from sgbn.io.tables.assembly import assemble, load_participants
from sgbn.io.tables.cells import Markers
from sgbn.io.tables.files import Source
from sgbn.io.tables.joins import absent_ids, join_participants, with_ids
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import Origin, RawTable

PARTICIPANT = "participant_id"  # the name in BIDS of the id column of participants


def read_subjects(
    folder: str | PathLike[str],
    *,
    parcellation: str | None = None,
    measure: str | None = None,
    aseg: bool = True,
    segmentations: str | Sequence[str] = (),
    stream: str | None = None,
    on_error: str = "skip",
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    participants: Source | None = None,
    participants_missing: str = "refuse",
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    missing: Markers = None,
) -> Cohort:
    """Read a folder of FreeSurfer, FastSurfer or CAT12 subjects into a cohort.

    Parameters
    ----------
    folder : path
        A folder with one folder per subject (``SUBJECTS_DIR``). Each session of a subject may be a
        folder inside the subject's folder. For CAT12, it is a folder with files ``catROI_*.xml`` or
        ``catROIs_*.xml``. They may be up to five levels of folders below it.
    parcellation : str, optional
        ``"aparc"``, ``"aparc.a2009s"``, ``"aparc.DKTatlas"``, ``"aparc.DKTatlas.mapped"``,
        ``"aseg+DKT"``, or any other parcellation with files ``stats/lh.NAME.stats``. For CAT12, it
        is the name of an atlas. If not given, it is the first in order of preference that at least
        half of the subjects have: aparc, then DKT, then a2009s, then tables of voxels. For CAT12,
        atlases of surfaces come first (aparc_DK40 before the others), then atlases of volumes
        (neuromorphometrics before the others).
    measure : str, optional
        The measure of the cortex: ``"thickness"``, ``"volume"`` or ``"area"``. For CAT12, it may
        also be one of its own names, such as ``"Vwm"``. If not given, it is thickness if there are
        surfaces, and volume otherwise.
    aseg : bool
        Whether subcortical volumes are regions too.
    segmentations : str or list of str
        Additional tables of volumes: ``"thalamus"``, ``"hypothalamus"``, ``"hippocampus"``,
        ``"amygdala"``, ``"brainstem"``, ``"cerebellum"``.
    stream : {"cross", "long"}, optional
        The runs to read, if FreeSurfer's longitudinal stream was used. If not given, longitudinal
        runs are read if all visits have one, and cross-sectional runs if no visit has one. If only
        some visits have one, there is an error.
    on_error : {"skip", "raise"}
        What to do about subjects who cannot be read, or whose regions differ from most others.
        ``"skip"`` leaves them out, with a warning that names them. ``"raise"`` raises an error.
    group, id, covariates, smooth, site, pair, subject, block : optional
        As in `read_table`. They name columns of `participants`, or totals such as ``eTIV`` and
        ``SurfaceHoles``. If a person has several visits, there is also the column ``"person"``.
    participants, participants_missing : optional
        As in `read_table`. If there are several visits, participants may be listed by person or
        by visit.
    regions, exclude, groups, atlas, missing : optional
        As in `read_table`. If no atlas is given, the atlas of the parcellation is used, if the
        package has it.

    Returns
    -------
    Cohort
        The subjects. Regions have the names that aparcstats2table, asegstats2table or CAT12 give
        them. The provenance says what was read, and how many subjects were left out.

    See Also
    --------
    sgbn.io.collect_subjects : Returns the tables and the quality sheet.
    """
    # Here `measure` chooses among files. In `Options` it would choose among columns.
    options = Options.of(**{**locals(), "measure": None})
    collected = collect_subjects(
        folder,
        parcellation=parcellation,
        measure=measure,
        aseg=aseg,
        segmentations=segmentations,
        stream=stream,
        on_error=on_error,
    )
    if options.atlas is None:
        atlas_read = parcellation_atlas(collected.facts["parcellation"])
        options = replace(options, atlas=atlas_read)
    match = match_columns(list(collected.table.columns), options.atlas)
    known = not set(collected.regions).intersection(match.unmatched)
    # If the atlas matched only some regions, the others would be left out.
    if options.regions is None and not known:
        named = tuple(name for name in collected.regions if name not in set(match.totals))
        options = replace(options, regions=named)
    raw = _raw(collected)
    person = _joined_by_person(raw, options, participants)
    cohort, _ = assemble(raw, options, participants, ID, person)
    if collected.facts["tool"] != CAT12 or options.atlas is not None or known:
        return cohort
    # Some names in CAT12's atlases are also in other atlases, which need not be the right ones.
    return replace(cohort, atlas=None, provenance={**cohort.provenance, "atlas": None})


def participants_by_visit(
    collected: SubjectsTable, participants: Source
) -> tuple[RawTable, pd.DataFrame | None]:
    """Return the participants with their ids, and a table with one row per visit.

    The second table is None if the participants are already listed by visit. It has no rows for
    visits of persons who are not listed.
    """
    raw = _raw(collected)
    people, id_name = load_participants(Options(), participants)
    if _joined_by_person(raw, Options(), participants) is None:
        return people, None
    visits = with_ids(replace(raw, frame=raw.frame[[ID, PERSON]]), PERSON)
    absent = set(absent_ids(visits.ids, people.ids))
    visits = visits.keep(np.array([name not in absent for name in visits.ids], dtype=bool))
    # The ids of the visits replace these columns.
    columns = [name for name in people.columns if name not in (id_name, ID, PERSON, PARTICIPANT)]
    joined = join_participants(visits, people, columns, may_lack=False)
    return people, joined.frame.drop(columns=PERSON).rename(columns={ID: PARTICIPANT})


def _joined_by_person(raw: RawTable, options: Options, participants: Source | None) -> str | None:
    """Return the column of persons if participants are listed by person, else None."""
    if participants is None or PERSON not in raw.columns:
        return None
    people, _ = load_participants(options, participants, PERSON)
    # The right column is the column with fewer labels that the participants do not list.
    by_visit, by_person = (absent_ids(list(raw.frame[name]), people.ids) for name in (ID, PERSON))
    return PERSON if len(by_person) < len(by_visit) else None


def _raw(collected: SubjectsTable) -> RawTable:
    places = np.arange(1, len(collected.table) + 1, dtype=np.intp)
    origin = Origin(repr(collected.facts["source"]), places, unit="subject {}")
    return RawTable(collected.table, origin, facts=collected.provenance)
