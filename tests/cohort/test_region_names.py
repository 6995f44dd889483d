"""Columns of whole tables.

Totals and labels that are never regions.
"""

import csv
from importlib.resources import files

import pytest
from tests.codes import refused

from sgbn.cohort.atlas import ATLASES, Region, load_atlas, stem
from sgbn.cohort.region_names import is_total, label_of, match_columns, plain_names, region_labels
from sgbn.paper.experiments.experiment import data_folder

FOLDER = data_folder()
needs_tables = pytest.mark.skipif(FOLDER is None, reason="no folder of real tables (SGBN_DATA)")


def rows_of(*path):
    with FOLDER.joinpath(*path).open(newline="") as file:
        yield from csv.DictReader(file)


@needs_tables
def test_every_column_of_the_real_tables_has_its_region():
    rows = list(rows_of("atlases", "roi_column_map.csv"))
    assert len(rows) > 300
    for row in rows:
        (found,) = match_columns([row["column"]], row["atlas"]).columns
        region = found.region
        assert (region.name, region.lobe) == (row["region"], row["lobe"])
        assert region.hemisphere == row["hemisphere"].replace("B", "")
        assert [region.x, region.y, region.z] == [float(row[axis]) for axis in "xyz"]
        assert found.measure == row["measure"].split("_")[0]


@needs_tables
@pytest.mark.parametrize(
    ("table", "atlas", "n_regions", "totals", "unmatched"),
    [
        ("ixi_age", "desikan_killiany", 68, ["eTIV"], {"site", "euler_mean"}),
        ("cobre_scz", "destrieux", 173, ["eTIV"], {"site"}),
        ("abide1_asd", "desikan_killiany", 93, ["eTIV"], {"site", "fiq"}),
    ],
)
def test_real_tables(table, atlas, n_regions, totals, unmatched):
    match = match_columns(list(next(rows_of("neuro", f"{table}.csv"))))
    assert match.atlas.name == atlas
    assert len(match.columns) == n_regions
    assert list(match.totals) == totals
    assert set(match.unmatched) == unmatched | {"subject_id", "group", "age", "sex"}


@pytest.mark.parametrize("name", ATLASES)
def test_the_atlas_of_a_table_is_found(name):
    regions = load_atlas(name).regions
    match = match_columns(["id", "age", *(f"{region.name}_vol" for region in regions)])
    assert match.atlas.name == name
    assert [found.region for found in match.columns] == list(regions)
    assert match.unmatched == ("id", "age")
    assert match.certain_atlas() is load_atlas(name)


def test_each_column_is_sorted_into_one_place_in_the_order_given():
    columns = ["TIV", "rh_insula_area", "age", "Left-Caudate", "lh_insula_area", "eTIV", "sex"]
    match = match_columns(columns)
    assert [found.column for found in match.columns] == [columns[k] for k in (1, 3, 4)]
    assert match.totals == ("TIV", "eTIV")
    assert match.unmatched == ("age", "sex")


def test_two_columns_of_one_region_are_both_reported():
    first, second = match_columns(["lh_insula_thickness", "L_insula_thickavg"], "dk").columns
    assert first.region == second.region
    assert first.measure == second.measure == "thickness"


def test_aseg_is_measured_by_volume_unless_its_name_says_otherwise():
    columns = ["Left-Caudate", "lh_insula", "Right-Caudate_normmean", "Lput"]
    measures = [found.measure for found in match_columns(columns, "dk").columns]
    assert measures == ["volume", "", "intensity", "volume"]


@pytest.mark.parametrize("columns", [[], ["age"], ["lh_insula", "age", "TIV"]])
def test_one_column_makes_no_atlas(columns):
    match = match_columns(columns)
    assert match.atlas is None
    assert match.columns == ()
    assert sorted(match.totals + match.unmatched) == sorted(columns)


def test_a_named_atlas_is_taken_however_few_columns_match():
    match = match_columns(["lh_insula", "age"], "destrieux")
    assert match.atlas.name == "destrieux"
    assert match.columns == ()
    assert match_columns(["lh_insula", "age"], load_atlas("dk")).columns[0].column == "lh_insula"


def test_of_equal_atlases_the_one_that_writes_so_is_taken():
    assert match_columns(["Precentral_L", "Insula_R"]).atlas.name == "aal"
    assert match_columns(["lh_precentral", "rh_insula"]).atlas.name == "desikan_killiany"
    assert match_columns(["Left-Hippocampus", "Left-Caudate"]).atlas.name == "desikan_killiany"


def test_tables_of_enigma_and_cat12():
    sides = ("L", "R")
    parts = ("LatVent", "thal", "caud", "put", "pal", "hippo", "amyg", "accumb")
    enigma = match_columns(["SubjID", *(s + part for part in parts for s in sides), "ICV"])
    assert len(enigma.columns) == 16
    assert {found.measure for found in enigma.columns} == {"volume"}
    assert (enigma.totals, enigma.unmatched) == (("ICV",), ("SubjID",))
    cortex = [r.name.replace("lh_", "l").replace("rh_", "r") for r in load_atlas("dk").regions[:68]]
    cat12 = match_columns(["names", "lunknown", "runknown", *cortex])
    assert len(cat12.columns) == 68
    assert (cat12.totals, cat12.unmatched) == (("lunknown", "runknown"), ("names",))


@pytest.mark.parametrize("name", ["CSF", "CSF_vol"])
def test_csf_is_a_structure_beside_others_and_else_a_total(name):
    aseg = ["Left-Caudate", "Right-Caudate", "eTIV"]
    assert name in [found.column for found in match_columns([name, *aseg]).columns]
    for others in ([*aseg, "TIV"], [*aseg, "GM_vol"], ["lh_insula", "rh_insula"], ["a", "b"]):
        match = match_columns([name, *others])
        assert name in match.totals
        assert name not in [found.column for found in match.columns]
    cat12 = match_columns(["TIV", "GM", "WM", name, "Insula_L", "Insula_R"])
    assert (cat12.atlas.name, cat12.totals) == ("aal", ("TIV", "GM", "WM", name))


DK = [region.name for region in load_atlas("dk").regions[:68]]
DKT = [region.name for region in load_atlas("dkt").regions[:62]]
ONLY_DK = sorted(set(DK) - set(DKT))


def test_dkt_is_found_only_where_exactly_its_regions_are():
    assert [name[3:] for name in ONLY_DK[:3]] == ["bankssts", "frontalpole", "temporalpole"]
    aseg = ["Left-Hippocampus", "Right-Hippocampus", "eTIV"]
    assert match_columns(DKT).atlas.name == "dkt"
    assert match_columns([f"{name}_thickness" for name in DKT] + aseg).atlas.name == "dkt"
    assert match_columns(DK).atlas.name == "desikan_killiany"
    for without in (0, 30, 61):
        some = [*DKT[:without], *DKT[without + 1 :]]
        assert match_columns(some).atlas.name == "desikan_killiany"
    for one in ONLY_DK:
        assert match_columns([*DKT, one]).atlas.name == "desikan_killiany"
    assert match_columns(DKT[:40], "dkt").atlas.name == "dkt"


def parcels(name, **wanted):
    regions = load_atlas(name).regions
    return [r.name for r in regions if all(getattr(r, key) == wanted[key] for key in wanted)]


@pytest.mark.parametrize("name", [name for name in ATLASES if name.startswith("schaefer")])
def test_parts_of_schaefer_are_known_by_their_whole_networks(name):
    everything = parcels(name)
    nearly = [one for k, one in enumerate(everything) if k % 20]  # 95 of 100
    for columns in (everything, nearly):
        shortened = [column.split("_", 1)[1] for column in columns]  # as XCP-D writes them
        assert match_columns(columns).certain_atlas().name == name
        assert match_columns(shortened).certain_atlas().name == name
    left = match_columns(parcels(name, hemisphere="L"))
    assert left.atlas.name == name
    assert not left.others


def test_of_schaefer_nothing_is_guessed():
    few = ["7Networks_LH_Vis_1", "7Networks_LH_Vis_2", "7Networks_RH_SomMot_3"]
    match = match_columns(few)
    assert match.atlas.name == "schaefer_100_7"
    assert match.others == ("schaefer_200_7", "schaefer_300_7", "schaefer_400_7")
    with refused("atlas.several"):
        match.certain_atlas()
    assert match_columns(few, "schaefer200").certain_atlas() is load_atlas("schaefer200")
    larger = match_columns([*few, "7Networks_LH_Vis_28"])  # only the 400 have so many
    assert (larger.atlas.name, larger.others) == ("schaefer_400_7", ())


@pytest.mark.parametrize(
    "columns",
    [
        ["L_1", "L_2", "R_1", "R_2"],
        ["r_1", "r_2", "r_4"],
        ["A2_L", "G_L", "G_R"],
        ["lh_25", "rh_25"],
    ],
)
def test_names_too_short_to_tell_make_no_atlas(columns):
    assert match_columns(columns).atlas is None
    dk = match_columns([*columns, "lh_insula", "rh_insula"])
    assert dk.atlas.name == "desikan_killiany"
    assert len(dk.columns) == 2


def test_short_names_count_beside_telling_ones():
    match = match_columns(["L_1", "L_V3A", "R_V3A", "L_2"])
    assert (match.atlas.name, len(match.columns)) == ("glasser", 4)


@pytest.mark.parametrize("name", ["aal3", "neuromorphometrics", "lpba40", "brainnetome", "glasser"])
def test_tables_with_other_names_of_the_regions_are_known(name):
    columns = [region.other_names[-1] for region in load_atlas(name).regions if region.other_names]
    match = match_columns([*columns, "TIV"])
    assert match.atlas.name == name
    assert len(match.columns) == len(columns) > 50


def test_csf_of_neuromorphometrics_is_a_structure_beside_its_ventricles():
    columns = ["3rd Ventricle", "4th Ventricle", "Left Cerebellum Exterior", "CSF"]
    assert len(match_columns(columns).columns) == 4
    assert match_columns([*columns, "TIV"]).totals == ("CSF", "TIV")


@pytest.mark.parametrize(
    ("columns", "atlas", "excluded"),
    [(DKT, "dkt", DKT[:3]), (DK, "desikan_killiany", ONLY_DK)],
)
def test_excluded_columns_tell_atlases_apart_that_know_the_others(columns, atlas, excluded):
    rest = [name for name in columns if name not in excluded]
    assert match_columns(rest).atlas.name != atlas
    match = match_columns(rest, excluded=excluded)
    assert match.atlas.name == atlas
    assert [found.column for found in match.columns] == rest
    assert match_columns(rest, "aal", excluded).atlas.name == "aal"


def test_excluded_columns_of_another_atlas_do_not_decide():
    destrieux = [region.name for region in load_atlas("destrieux").regions]
    assert match_columns(DK, excluded=destrieux).atlas.name == "desikan_killiany"


LONGEST = 32  # letters: more leave no room in a figure


@pytest.mark.parametrize("name", ATLASES)
def test_each_region_of_an_atlas_has_a_label_of_its_own(name):
    regions = load_atlas(name).regions
    labels = [label_of(region) for region in regions]
    assert len(set(labels)) == len(regions)
    for region, label in zip(regions, labels, strict=True):
        assert label.startswith(f"{region.hemisphere} ".lstrip())
        assert len(region.hemisphere) < len(label) <= LONGEST
        assert "_" not in label


@pytest.mark.parametrize(
    ("column", "atlas", "label"),
    [
        ("rh_S_oc-temp_lat_thickness", "destrieux", "R lat. occ.-temp. sulcus"),
        ("Left-Thalamus-Proper", "destrieux", "L thalamus"),
        ("lh_bankssts", "desikan_killiany", "L banks of STS"),
        ("Cerebelum_4_5_R", "aal", "R cerebellum IV-V"),
        ("Vermis_9", "aal3", "vermis IX"),
        ("rh_insula", "dkt", "R insula"),
        ("Left Planum Polare", "harvard_oxford", "L planum polare"),
        ("A8m_L", "brainnetome", "L A8m"),
        ("L_p9-46v", "glasser", "L p9-46v"),
        ("Right ACgG anterior cingulate gyrus", "neuromorphometrics", "R ant. cingulate gyrus"),
        ("lSupFroG", "lpba40", "L sup. frontal gyrus"),
        ("LH_Vis_1", "schaefer_200_7", "L visual 1"),
        ("RH_Default_Par_2", "schaefer_200_7", "R default Par 2"),
        ("LH_SomMotB_S2_1", "schaefer_200_17", "L somatomotor B S2 1"),
        ("RH_TempPar_1", "schaefer_100_17", "R temp. parietal 1"),
    ],
)
def test_labels_are_words_with_the_side_first(column, atlas, label):
    assert label_of(load_atlas(atlas).find(column)) == label


def test_a_region_that_is_not_known_has_none():
    assert label_of(Region("parcel_17", "L", "frontal", 0, 0, 0, 1)) == ""


def test_no_row_is_lost_to_another():
    text = (files("sgbn.cohort") / "atlases" / "labels.csv").read_text(encoding="utf-8")
    names = [stem(row["region"], "") for row in csv.DictReader(text.splitlines())]
    assert len(set(names)) == len(names)
    known = {stem(r.name, r.hemisphere) for name in ATLASES for r in load_atlas(name).regions}
    assert set(names) < known  # none that no atlas has; others have a label by a rule


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        (["lh_insula_thickness", "rh_cuneus_thickness"], ["L insula", "R cuneus"]),
        (["lh_insula_thickness", "lh_cuneus_thickness"], ["L insula", "L cuneus"]),
        (["Parcel_A_L", "Parcel_B_R"], ["L A", "R B"]),
        (["vol.a", "vol.b"], ["a", "b"]),
        (["region1", "region2"], ["region1", "region2"]),  # a part of a word says something
        (["r_value", "l_value"], ["r", "l"]),  # no side: R and L are
        (["a_x", "a_x_x"], ["x", "x x"]),
        (["a_", "a_b"], ["a", "a b"]),  # nothing would be left of the first
        (["only_one"], ["only one"]),
        (["_", "x"], ["_", "x"]),
        (["ROI_005", "ROI_107"], ["ROI 005", "ROI 107"]),  # a word before the number is kept
        ([], []),
    ],
)
def test_plain_names_have_the_side_first_and_not_what_all_share(names, plain):
    assert plain_names(names) == plain


@pytest.mark.parametrize(
    ("names", "atlas", "expected"),
    [
        (
            ["rh_S_oc-temp_lat_thickness", "Left-Amygdala", "my_own_region"],
            "destrieux",
            ("R lat. occ.-temp. sulcus", "L amygdala", "my own region"),
        ),
        (
            ["lh_insula_thickness", "lh_insula_area", "Left-Amygdala", "lh_cuneus"],
            "dk",
            ("L insula (thickness)", "L insula (area)", "L amygdala", "L cuneus (no measure)"),
        ),
        (
            ["lh_insula_thickness", "rh_insula_thickness", "rh_cuneus_thickness"],
            None,
            ("L insula", "R insula", "R cuneus"),
        ),
        # two columns of one region keep their names
        (
            ["Left-Amygdala", "Left-Amygdala_mean", "lh_insula"],
            "dk",
            ("Left-Amygdala", "Left-Amygdala_mean", "L insula"),
        ),
        (["a_b", "a b"], None, ("a_b", "a b")),
        # what one falls back to is the label of another: all keep their names
        (["a_b c", "a b_c", "a b c"], None, ("a_b c", "a b_c", "a b c")),
    ],
)
def test_labels_are_readable_and_differ(names, atlas, expected):
    assert region_labels(tuple(names), atlas and load_atlas(atlas)) == expected
    assert len(set(expected)) == len(names)


TOTALS = [
    *("lh_MeanThickness_thickness", "rh_WhiteSurfArea_area", "lh.MeanThickness.thickness"),
    *("BrainSegVol", "BrainSegVolNotVent", "BrainSegVolNotVentSurf", "BrainSegVol-to-eTIV"),
    *("BrainSegVol.to.eTIV", "MaskVol", "MaskVol-to-eTIV", "SurfaceHoles", "lhSurfaceHoles"),
    *("eTIV", "EstimatedTotalIntraCranialVol", "EstimatedTotalIntraCranialVol_mm3", "ICV", "TIV"),
    *("lhCortexVol", "rhCortexVol", "CortexVol", "lhCerebralWhiteMatterVol"),
    *("CerebralWhiteMatterVol", "CorticalWhiteMatterVol", "TotalGrayVol", "SubCortGrayVol"),
    *("SupraTentorialVol", "SupraTentorialVolNotVent", "SupraTentorialVolNotVentVox"),
    *("LThickness", "RThickness", "LSurfArea", "RSurfArea", "VentricleChoroidVol"),
    *("GM", "WM", "WMH", "GMV", "total_GM", "Left-Cerebral-White-Matter", "Right-Cerebral-Cortex"),
    *("WM-hypointensities", "non-WM-hypointensities", "Left-WM-hypointensities", "5th-Ventricle"),
    *("X5th.Ventricle", "Left-vessel", "lh_unknown_thickness", "runknown", "lUnknown"),
    *("lh_Medial_wall_thickness", "rMedial_wall", "lh_corpuscallosum_area"),
    *("MeanThickness_lh", "SurfArea_right"),
]


@pytest.mark.parametrize("column", TOTALS)
def test_totals(column):
    assert is_total(column)
    assert is_total(column.lower())
    assert [name for name in ATLASES if load_atlas(name).find(column)] == []


@pytest.mark.parametrize("name", ATLASES)
def test_no_region_is_a_total(name):
    assert [region.name for region in load_atlas(name).regions if is_total(region.name)] == []


@pytest.mark.parametrize(
    "column",
    [
        *("age", "sex", "IQ", "site", "group", "euler_mean", "thickness", "area", "unknown"),
        "mask",
        *("CSF", "volume", "", "lh", "total", "cortex", "vessel", "lh_insula_thickness", "gmail"),
    ],
)
def test_other_columns_are_no_totals(column):
    assert not is_total(column)
