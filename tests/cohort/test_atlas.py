"""Atlases find their regions in every spelling, and nothing else.

The atlases of the package.

Names, paths and atlases stand for an atlas.

A user's own atlas.

How a column's name is read.

Hemispheres in the names of regions.
"""

import hashlib
import math
import re
from collections import Counter
from itertools import cycle, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nilearn.datasets import load_mni152_brain_mask
from scipy.ndimage import binary_dilation
from tests.codes import refused, warned

import sgbn
from sgbn.cohort.atlas import (
    ATLASES,
    MAX_SHORT_KEY,
    MEASURES,
    Atlas,
    Region,
    as_atlas,
    atlases_for,
    is_aseg,
    key,
    load_atlas,
    names_table,
    other_keys,
    own_keys,
    read_atlas,
    readings,
    side_of,
    stem,
    table_rows,
    words,
)
from sgbn.cohort.region_names import match_columns

SIDED = re.compile(r"^((7|17)Networks_)?(lh_|rh_|Left[- ]|Right[- ]|[LR]H?_)|(_L|_R)$")
# The smaller of Schaefer's have the same kinds of names, and HCPEx has the areas of Glasser.
SPELT = [name for name in ATLASES if not name.startswith(("glasser", "schaefer"))]
SPELT += ["schaefer_400_7", "schaefer_400_17"]

PREFIXES = {
    "L": ["lh_", "lh.", "lh-", "ctx-lh-", "ctx_lh_", "L_", "L.", "L-", "left_", "Left-", "Left."],
    "R": ["rh_", "rh.", "rh-", "ctx-rh-", "ctx_rh_", "R_", "R.", "R-", "right_", "Right-"],
}
SUFFIXES = {
    "L": ["_L", ".L", "-L", "_lh", "_left", " left", "(L)", " (L)", ".Left"],
    "R": ["_R", ".R", "-R", "_rh", "_right", " right", "(R)", " (R)", ".Right"],
}


def made_by_r(name: str) -> str:
    valid = re.sub(r"[^A-Za-z0-9_.]", ".", name)
    return f"X{valid}" if valid[0].isdigit() else valid


STYLES = {
    "as it is": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "made valid by R": made_by_r,
    "ampersand": lambda name: name.replace("_and_", "&"),
    "ampersand made valid by R": lambda name: made_by_r(name.replace("_and_", "&")),
    "without and": lambda name: name.replace("_and_", "_"),
    "spaces": lambda name: name.replace("_", " ").replace("-", " "),
    "starred": lambda name: f"{name}*",
    "quoted": lambda name: f'"{name}"',
    "older AAL": lambda n: n.replace("Cingulate", "Cingulum").replace("Cerebellum", "Cerebelum"),
    "newer AAL": lambda n: n.replace("Cingulum", "Cingulate").replace("Cerebelum", "Cerebellum"),
}


def spellings(region: Region) -> list[str]:
    if not region.hemisphere:
        return [region.name]
    stem = SIDED.sub("", region.name)
    before = [prefix + stem for prefix in PREFIXES[region.hemisphere]]
    after = [stem + suffix for suffix in SUFFIXES[region.hemisphere]]
    # a short name is not told from other words without a separator
    side = region.hemisphere if sum(map(str.isalnum, stem)) >= MAX_SHORT_KEY else None
    joined = [side.lower() + stem, side + stem] if side else []
    return [region.name, *before, *after, *joined]


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SPELT)
def test_regions_are_found_in_every_spelling(name, every):
    atlas = load_atlas(name)
    step = 1 if every else 1 + len(atlas.regions) // 10  # odd and even places: both hemispheres
    for style, region in product(STYLES.values(), atlas.regions[:: step | 1]):
        for spelling in spellings(region):
            assert atlas.find(style(spelling)) == region, style(spelling)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SPELT)
def test_regions_are_found_with_every_measure(name, every):
    atlas = load_atlas(name)
    some = zip(cycle(atlas.regions), MEASURES, strict=False)
    for region, word in product(atlas.regions, MEASURES) if every else some:
        found = region, MEASURES[word]
        assert atlas.read(f"{region.name}_{word}") == found
        assert atlas.read(f"{word}.{region.name}") == found
        assert atlas.read(f"{region.name}_{word}_mm") == found


@pytest.mark.parametrize("name", ATLASES)
def test_no_key_is_of_two_regions(name):
    owner: dict[str, Region] = {}
    for region in load_atlas(name).regions:
        for kept in own_keys(region) | other_keys(region):
            assert owner.setdefault(kept, region) == region, kept


@pytest.mark.parametrize("name", ATLASES)
def test_a_name_with_a_letter_more_or_without_its_side_is_not_found(name):
    atlas = load_atlas(name)
    for region in atlas.regions:
        stem = SIDED.sub("", region.name)
        wrong = [f"{region.name}x", f"q{region.name}", f"non-{region.name}", f"{region.name}_2"]
        wrong += [stem, f"{stem}_thickness", f"lr_{stem}", f"lh_rh_{stem}"] * (stem != region.name)
        for column in wrong:
            assert atlas.find(column) is None, column


@pytest.mark.parametrize(
    "column",
    [
        *("age", "sex", "IQ", "site", "group", "fiq", "euler_mean", "l", "L", "right", "area"),
        *("insulation", "rate", "left_handed", "handedness", "thickness", "volume", "lh"),
        "rh_area",
        *("lcr", "LCR", "llr", "rpm", "", " ", "___", "&", "and", "G", "S", "lh_S", "l_s", "mean"),
        *("insula", "hippocampus", "MMSE", "PANSS_pos", "rest", "lobe", "left_insulation"),
        *("lh_unknown_thickness", "lh_Medial_wall_thickness", "lh_MeanThickness_thickness"),
        *("lh_insula_thickness.1", "lh_insula_left", "rh_lh_insula", "subject_id"),
    ],
)
def test_what_is_no_region_is_not_found(column):
    assert [name for name in ATLASES if load_atlas(name).find(column)] == []


@pytest.mark.parametrize(
    ("atlas", "column", "name", "measure"),
    [
        ("dk", "L_bankssts_thickavg", "lh_bankssts", "thickness"),
        ("dk", "R_insula_surfavg", "rh_insula", "area"),
        ("dk", "lbankssts", "lh_bankssts", ""),
        ("dk", "Gyrification_rcuneus", "rh_cuneus", "gyrification"),
        ("dk", "wm-lh-insula", "lh_insula", "white_matter_volume"),
        ("dk", "lh_insula_thicknessstd", "lh_insula", "thickness_std"),
        ("dk", "lh_insula_mean_thickness", "lh_insula", "thickness"),
        ("dk", "Lthal", "Left-Thalamus-Proper", ""),
        ("dk", "Rcaud", "Right-Caudate", ""),
        ("dk", "Lput", "Left-Putamen", ""),
        ("dk", "Rpal", "Right-Pallidum", ""),
        ("dk", "Lhippo", "Left-Hippocampus", ""),
        ("dk", "Ramyg", "Right-Amygdala", ""),
        ("dk", "Laccumb", "Left-Accumbens-area", ""),
        ("dk", "RLatVent", "Right-Lateral-Ventricle", ""),
        ("dk", "Left-Thalamus", "Left-Thalamus-Proper", ""),
        ("dk", "Left-Thalamus-Proper*", "Left-Thalamus-Proper", ""),
        ("dk", "left inferior lateral ventricle", "Left-Inf-Lat-Vent", ""),
        ("dk", "Left.Accumbens.area_volume", "Left-Accumbens-area", "volume"),
        ("dk", "Right-Accumbens_vol", "Right-Accumbens-area", "volume"),
        ("dk", "X3rd.Ventricle", "3rd-Ventricle", ""),
        ("dk", "CC_Mid_Anterior_mm3", "CC_Mid_Anterior", "volume"),
        ("destrieux", "lh_G.S_frontomargin", "lh_G_and_S_frontomargin", ""),
        ("destrieux", "rh_G_Ins_lg&S_cent_ins_area", "rh_G_Ins_lg_and_S_cent_ins", "area"),
        ("destrieux", "rG_and_S_cingul-Ant", "rh_G_and_S_cingul-Ant", ""),
        ("destrieux", "CSF", "CSF", ""),
        ("aal", "Cingulate_Ant_L_GMV", "Cingulum_Ant_L", "volume"),
        ("aal", "Supp_Motor_Area_R", "Supp_Motor_Area_R", ""),
        ("aal3", "Cerebelum_Crus1_L_Vgm", "Cerebellum_Crus1_L", "volume"),
        ("aal3", "LC_R_suvr", "LC_R", "suvr"),
        ("aal3", "lIFGtriang", "Frontal_Inf_Tri_L", ""),
        ("aal3", "Right Gyrus rectus", "Rectus_R", ""),
        ("dkt", "lh_insula_thickness", "lh_insula", "thickness"),
        ("dkt", "lh.aparc.DKTatlas.mapped.insula_thickness", "lh_insula", "thickness"),
        ("dkt", "Left-Hippocampus", "Left-Hippocampus", ""),
        ("harvard_oxford", "Left Heschl's Gyrus", "Left Heschl's Gyrus (includes H1 and H2)", ""),
        ("harvard_oxford", "Right_Frontal_Pole_gmv", "Right Frontal Pole", "volume"),
        (
            "harvard_oxford",
            "Left Superior Temporal Gyrus, anterior division",
            "Left Superior Temporal Gyrus anterior division",
            "",
        ),
        ("brainnetome", "SFG_L_7_1", "A8m_L", ""),
        ("brainnetome", "lh_A9/46d_thickness", "A9/46d_L", "thickness"),
        ("brainnetome", "BG_R_6_1", "vCa_R", ""),
        ("glasser", "L_V1_ROI_thickness", "L_V1", "thickness"),
        ("glasser", "lh_L_p9-46v_ROI_area", "L_p9-46v", "area"),
        ("glasser", "rh_R_1_ROI", "R_1", ""),
        ("glasser", "Primary_Visual_Cortex_R", "R_V1", ""),
        ("neuromorphometrics", "lThaPro", "Left Thalamus Proper", ""),
        ("neuromorphometrics", "rAntCinGy_GM_Vol", "Right ACgG anterior cingulate gyrus", "volume"),
        ("neuromorphometrics", "Right angular gyrus", "Right AnG angular gyrus", ""),
        ("lpba40", "rSupFroG", "Right Superior Frontal Gyrus", ""),
        ("lpba40", "bBst", "Bothside Brainstem", ""),
        ("schaefer100", "LH_Vis_1", "7Networks_LH_Vis_1", ""),
        ("schaefer100", "7Networks_LH_Vis_1_thickness", "7Networks_LH_Vis_1", "thickness"),
        ("schaefer100", "lVis_1", "7Networks_LH_Vis_1", ""),
        ("schaefer_200_17", "RH_VisCent_ExStr_1_gmv", "17Networks_RH_VisCent_ExStr_1", "volume"),
    ],
)
def test_columns_as_tools_write_them(atlas, column, name, measure):
    region, read_measure = load_atlas(atlas).read(column)
    assert (region.name, read_measure) == (name, measure)


@settings(max_examples=settings().max_examples // 10)  # each asks every atlas
@given(st.text() | st.from_regex(r"(l|r|lh|rh|G|S|and|area|insula|_|-|\.|&){0,8}", fullmatch=True))
def test_find_never_raises(column):
    for name in ATLASES:
        region = load_atlas(name).find(column)
        assert region is None or region in load_atlas(name).regions


def test_a_key_of_two_regions_is_never_guessed():
    left = Region("Hippocampus", "L", "", -25.0, -20.0, -15.0, 1.0)
    right = left._replace(hemisphere="R", x=25.0)
    atlas = Atlas("own", "own", (left, right))
    assert atlas.find("Hippocampus") is None
    assert atlas.find("Hippocampus_L") == left
    assert atlas.find("rh_hippocampus_volume") == right


def test_the_name_in_the_atlas_goes_before_an_alias():
    whole = Region("Left-Hippocampus", "L", "", -25.0, -20.0, -15.0, 1.0)
    other = whole._replace(name="Hippo_L")
    atlas = Atlas("own", "own", (whole, other))
    assert atlas.find("lh_hippo") == other
    assert atlas.find("lh_hippocampus") == whole


def test_names_in_other_scripts_and_with_numbers_are_found():
    names = ["V1_2_L", "V12_L", "海馬_L", "Größe_L"]
    regions = tuple(Region(name, "L", "", -1.0, 0.0, 0.0, 1.0) for name in names)
    atlas = Atlas("own", "own", regions)
    assert [atlas.find(name).name for name in names] == names


def test_names_that_differ_in_signs_alone_are_told_apart_as_written():
    places = ("", "lobe", 1.0, 2.0, 3.0, 4.0)
    atlas = Atlas("own", "own", tuple(Region(name, *places) for name in ("signal +", "signal -")))
    assert [atlas.find(name).name for name in ("signal -", "signal +")] == ["signal -", "signal +"]
    assert atlas.find("signal") is None


ASEG = 36
# As published; README.md beside the tables says which labels are left out of four of them.
SIZES = {
    "desikan_killiany": 68 + ASEG,
    "destrieux": 148 + ASEG,
    "aal": 116,
    "aal2": 120,
    "aal3": 170 - 4,
    "dkt": 62 + ASEG,
    "harvard_oxford": 2 * 48 + 2 * 7 + 1,
    "brainnetome": 246,
    "glasser": 360,
    "neuromorphometrics": 136 - 4,
    "lpba40": 56,
    **{f"schaefer_{size}_{k}": size for size in (100, 200, 300, 400) for k in (7, 17)},
}
NOT_SYMMETRIC = tuple(name for name in ATLASES if name.startswith("schaefer"))
TOLERANCE = 2  # mm beyond the mask: centres are rounded, and templates of MNI space differ


def test_all_atlases_are_counted():
    assert set(ATLASES) == set(SIZES)


@pytest.mark.parametrize("name", ATLASES)
def test_regions_have_a_place_on_their_side(name):
    regions = load_atlas(name).regions
    assert len(regions) == SIZES[name]
    assert len({region.name for region in regions}) == len(regions)
    sides = Counter(region.hemisphere for region in regions)
    assert sides["L"] == sides["R"] >= 27
    for region in regions:
        assert region.name.strip()
        assert region.lobe
        assert region.volume_mm3 > 0 or name in NOT_SYMMETRIC
        assert all(math.isfinite(v) and abs(v) < 110 for v in (region.x, region.y, region.z))
        assert {"L": region.x < 0, "R": region.x > 0, "": abs(region.x) < 5}[region.hemisphere]


@pytest.fixture(scope="module")
def near_brain():
    """Brain mask of MNI152, grown by the tolerance, and the way from mm to its voxels."""
    image = load_mni152_brain_mask(resolution=1)
    mask = binary_dilation(np.asarray(image.dataobj) > 0, iterations=TOLERANCE)
    return mask, np.linalg.inv(image.affine)


@pytest.mark.parametrize("name", ATLASES)
def test_every_centre_is_inside_the_brain(name, near_brain):
    mask, to_voxels = near_brain
    for region in load_atlas(name).regions:
        place = to_voxels @ [region.x, region.y, region.z, 1.0]
        assert mask[tuple(np.rint(place[:3]).astype(int))], region


@pytest.mark.parametrize("name", [name for name in ATLASES if name not in NOT_SYMMETRIC])
def test_both_hemispheres_have_the_same_regions_at_mirrored_places(name):
    regions = load_atlas(name).regions
    left, right = (
        {stem(r.name, side): r for r in regions if r.hemisphere == side} for side in ("L", "R")
    )
    assert left.keys() == right.keys()
    for kept, region in left.items():
        twin = right[kept]
        apart = math.dist((-region.x, region.y, region.z), (twin.x, twin.y, twin.z))
        assert apart < 20, region  # brains are not symmetric, but regions keep their place
        assert twin.lobe == region.lobe or name == "glasser"  # networks may differ


@pytest.mark.parametrize("size", [100, 200, 300, 400])
def test_parcels_of_schaefer_are_in_7_or_17_networks_on_both_sides(size):
    for networks in (7, 17):
        regions = load_atlas(f"schaefer_{size}_{networks}").regions
        for side in ("L", "R"):
            assert len({r.lobe for r in regions if r.hemisphere == side}) == networks
    places = [
        sorted((r.x, r.y, r.z) for r in load_atlas(f"schaefer_{size}_{k}").regions) for k in (7, 17)
    ]
    assert places[0] == places[1]  # the same parcels in another order


def test_harvard_oxford_has_no_ventricles_and_these_subcortical_structures():
    regions = load_atlas("harvard_oxford").regions
    deep = Counter(stem(r.name, r.hemisphere) for r in regions if r.lobe == "subcortical")
    names = ("thalamus", "caudate", "putamen", "pallidum", "hippocampus", "amygdala", "accumbens")
    assert deep == dict.fromkeys(names, 2)
    assert [r.name for r in regions if r.lobe == "brainstem"] == ["Brain-Stem"]
    assert len(regions) - sum(deep.values()) - 1 == 96


@pytest.mark.parametrize(
    ("name", "region", "place"),
    [
        # published: Fan et al. 2016, Brainnetome Atlas
        ("brainnetome", "A8m_L", (-5, 15, 54)),
        ("brainnetome", "A8m_R", (7, 16, 54)),
        ("brainnetome", "lPFtha_R", (13, -16, 7)),
        # another segmentation of the same structures: FreeSurfer's aseg
        ("harvard_oxford", "Left Putamen", (-26, 1, -2)),
        ("neuromorphometrics", "Right Hippocampus", (27, -22, -14)),
        ("lpba40", "Left Caudate", (-14, 8, 9)),
        ("glasser", "R_V1", (11, -83, 3)),  # calcarine sulcus
    ],
)
def test_known_places(name, region, place):
    found = load_atlas(name).find(region)
    assert math.dist((found.x, found.y, found.z), place) < 6


def test_dkt_lies_near_the_regions_of_desikan_killiany_of_the_same_name():
    other = load_atlas("dk")
    for region in load_atlas("dkt").regions[:62]:
        twin = other.find(region.name)
        assert twin.lobe == region.lobe
        assert math.dist(region[3:6], twin[3:6]) < 10, region


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Desikan-Killiany", "desikan_killiany"),
        ("dk", "desikan_killiany"),
        ("aparc", "desikan_killiany"),
        ("aparc+aseg", "desikan_killiany"),
        ("aparc_DK40", "desikan_killiany"),
        ("Destrieux", "destrieux"),
        ("aparc.a2009s", "destrieux"),
        ("AAL", "aal"),
        ("AAL1", "aal"),
        ("aal116", "aal"),
        ("AAL-2", "aal2"),
        ("aal3", "aal3"),
        ("DKT", "dkt"),
        ("aparc.DKTatlas", "dkt"),
        ("harvard-oxford", "harvard_oxford"),
        ("Harvard-Oxford", "harvard_oxford"),
        ("brainnetome", "brainnetome"),
        ("bna246", "brainnetome"),
        ("glasser", "glasser"),
        ("HCP-MMP1", "glasser"),
        ("neuromorphometrics", "neuromorphometrics"),
        ("LPBA40", "lpba40"),
        ("schaefer200", "schaefer_200_7"),
        ("Schaefer2018_200Parcels_7Networks", "schaefer_200_7"),
        ("Schaefer2018_400Parcels_17Networks_order", "schaefer_400_17"),
        ("Schaefer2018_desc-100Parcels17Networks", "schaefer_100_17"),
        ("schaefer 300 7", "schaefer_300_7"),
    ],
)
def test_atlases_by_other_names(spelling, name):
    assert load_atlas(spelling) is load_atlas(name)
    assert load_atlas(spelling).name == name


def test_atlases_of_schaefer_are_asked_only_about_names_of_its_networks():
    few = atlases_for(["lh_insula_thickness", "Amygdala_L", "age"])
    assert few == [name for name in ATLASES if not name.startswith("schaefer")]
    for name in NOT_SYMMETRIC:
        for region in load_atlas(name).regions:
            assert atlases_for([region.name]) == list(ATLASES)


def test_aseg_is_shared_by_the_cortical_atlases():
    shared = set(load_atlas("dk").regions) & set(load_atlas("destrieux").regions)
    assert len(shared) == ASEG
    assert shared < set(load_atlas("dkt").regions)
    assert all(is_aseg(region) for region in shared)
    assert not any(is_aseg(region) for region in load_atlas("aal").regions)


TABLE = "region,hemisphere,lobe,x,y,z,volume_mm3\n" + "".join(
    f"area {k} {side},{side},lobe {k % 3},{10 if side == 'R' else -10},{k},5,1000\n"
    for k in range(6)
    for side in "LR"
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    return path


def test_a_name_a_path_and_an_atlas_stand_for_one(path):
    own = read_atlas(path)
    assert as_atlas(own) is own
    assert as_atlas(str(path)) == as_atlas(path) == own
    assert as_atlas("dk") is load_atlas("desikan_killiany")
    assert match_columns(["area 1 L"], path).columns[0].region == own.regions[2]


def test_everything_that_takes_an_atlas_takes_its_path(path, tmp_path):
    cohort = sgbn.simulate_cohort(20, atlas=str(path), regions=6)
    assert cohort.atlas == read_atlas(path)
    series = sgbn.simulate_series(6, 60, atlas=path, regions=6)
    assert series.atlas == cohort.atlas
    table = tmp_path / "table.csv"
    sgbn.write_table(cohort, table)
    read = sgbn.read_table(table, group="group", atlas=path)
    assert read.lobes == cohort.lobes
    network = next(iter(cohort.networks.values()))
    nodes = sgbn.node_table(network, path)
    assert set(nodes["lobe"]) == set(cohort.lobes)
    written = sgbn.export_network(network, tmp_path / "out" / "net", str(path))
    assert tmp_path / "out" / "net.node" in written


def test_a_file_counts_where_no_atlas_is_called_so(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("aal", "regions"):
        (tmp_path / name).write_text(TABLE)
    assert as_atlas("regions").regions == read_atlas(path).regions
    assert as_atlas("aal") is load_atlas("aal")
    assert names_table("gone.tsv")
    assert not names_table("gone")
    assert names_table("mine.csv", "elsewhere")
    assert names_table("regions", tmp_path)
    assert not names_table("regions", tmp_path / "elsewhere")


UNKNOWN = ("", "schaefer", "schaefer500", "schaefer_200_8", "aal4", "brodmann", "gone.csv", 5)


@pytest.mark.parametrize(
    ("atlas", "code"),
    [*((atlas, "atlas.unknown") for atlas in UNKNOWN), ("aal.nii.gz", "atlas.image")],
)
def test_what_is_no_atlas_is_refused(atlas, code):
    with refused(code):
        as_atlas(atlas)


HEADER = "region,hemisphere,lobe,x,y,z"
GOOD = f"""{HEADER}
Left area A,L,frontal,-10,20,30.5
Right area A,right,frontal,10,20,30
Stem,,,0,-30,-30
"""


def written(folder, text, name="own.csv", **kwargs):
    path = folder / name
    path.write_text(text, **{"encoding": "utf-8", **kwargs})
    return path


@pytest.mark.parametrize("mark", [",", "\t", ";"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_is_read_whatever_its_delimiter(tmp_path, mark, encoding):
    atlas = read_atlas(written(tmp_path, GOOD.replace(",", mark), encoding=encoding))
    assert atlas.name == "own"
    assert [region.hemisphere for region in atlas.regions] == ["L", "R", ""]
    assert atlas.regions[0][3:6] == (-10.0, 20.0, 30.5)
    assert math.isnan(atlas.regions[0].volume_mm3)
    match = match_columns(["lh_area_A_thickness", "Area A (R)", "stem", "age"], atlas)
    assert [found.region for found in match.columns] == list(atlas.regions)
    assert match.unmatched == ("age",)


def test_volume_other_columns_quotes_and_empty_lines(tmp_path):
    header = "Volume_mm3,Region,note,hemisphere,lobe,x,y,z"
    text = header + '\n12.5,"A, part 1",n,B,,1,2,3\n\n,C,,L,,-1,2,3\n'
    first, second = read_atlas(written(tmp_path, text)).regions
    assert (first.name, first.hemisphere, first.volume_mm3) == ("A, part 1", "", 12.5)
    assert math.isnan(second.volume_mm3)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "columns"),
        ("hemisphere,lobe\nL,f\n", "columns"),
        ("region,hemisphere\nA,L\n", "columns"),
        ("region,hemisphere,lobe,x,y\nA,L,,1,2\n", "columns"),
        (f"{HEADER}\n", "empty"),
        (f"{HEADER}\nA,L,f,1,2,3\nB,X,f,1,2,3\n", "hemisphere"),
        (f"{HEADER}\nA,L,f,1,,3\n", "number"),
        (f"{HEADER}\n\nA,L,f,1,inf,3\n", "number"),
        (f"{HEADER},volume_mm3\nA,L,f,1,2,3,big\n", "number"),
        (f"{HEADER}\n,L,f,1,2,3\n", "unnamed"),
        (f"{HEADER}\nA,L,f,1,2\n", "cells"),
        (f"{HEADER}\nA,L,f,1,2,3\nA,lh,f,1,2,3\n", "twice"),
        (HEADER.replace(",", ";") + "\nA;L;f;-1,5;2;3\n", "number"),
        ("\xff\xfe\x00\x81", "encoding"),
    ],
)
def test_wrong_tables_are_refused(tmp_path, text, code):
    with refused(f"atlas.{code}"):
        read_atlas(written(tmp_path, text, encoding="latin1"))


def test_a_file_that_is_absent_is_refused(tmp_path):
    with refused("atlas.unreadable"):
        read_atlas(tmp_path / "absent.csv")


def test_a_table_of_labels_after_bids_is_read(tmp_path):
    text = "index\tname\tnetwork_label\n1\tLH_Vis_1\tVis\n2\tRH_Vis_1\tVis\n3\tStem\tn/a\n"
    regions = read_atlas(written(tmp_path, text, "atlas-X_dseg.tsv")).regions
    assert [one[:3] for one in regions] == [
        ("LH_Vis_1", "L", "Vis"),
        ("RH_Vis_1", "R", "Vis"),
        ("Stem", "", "unknown"),
    ]
    assert all(math.isnan(number) for one in regions for number in one[3:7])
    names = read_atlas(written(tmp_path, "index,label,color\n1,A,red\n2,B,blue\n")).regions
    assert [(one.name, one.lobe) for one in names] == [("A", "unknown"), ("B", "unknown")]


def test_lobes_or_coordinates_may_be_absent(tmp_path):
    (only_lobe,) = read_atlas(written(tmp_path, "region,lobe\nA,frontal\n")).regions
    assert (only_lobe.lobe, math.isnan(only_lobe.x)) == ("frontal", True)
    (only_place,) = read_atlas(written(tmp_path, "region,x,y,z\nA,1,2,3\n")).regions
    assert only_place[2:6] == ("unknown", 1.0, 2.0, 3.0)
    first, second = read_atlas(
        written(tmp_path, f"{HEADER}\nA,,f,n/a,n/a,n/a\nB,,f,1,2,3\n")
    ).regions
    assert (math.isnan(first.y), second.y) == (True, 2.0)


def test_the_file_is_known_by_its_content(tmp_path):
    path = written(tmp_path, GOOD)
    atlas = read_atlas(path)
    assert atlas.file == (str(path), hashlib.sha256(path.read_bytes()).hexdigest(), "")
    assert read_atlas(written(tmp_path, GOOD.replace("30.5", "31.5"))) != atlas


def test_a_table_is_written_as_it_is_read(tmp_path):
    header = f"{HEADER},volume_mm3,other_names,label_image\n"
    text = header + "A,L,f,-1.5,2.0,3.0,8.0,a|aa,x.nii\nB,,unknown,1.0,2.0,3.0,8.0,,x.nii\n"
    atlas = read_atlas(written(tmp_path, text))
    assert atlas.title == atlas.file.label_image == "x.nii"
    rows = table_rows(atlas)
    assert ",".join(rows[0]) + "\n" == header
    assert [",".join(map(str, row.values())) for row in rows] == text.splitlines()[1:]


@pytest.mark.parametrize("side", ["l", "LH", "Left"])
def test_sides_are_spelled_as_in_columns(tmp_path, side):
    text = f"{HEADER}\nA,{side},f,1,2,3\n"
    assert read_atlas(written(tmp_path, text)).regions[0].hemisphere == "L"


def test_other_names_of_a_region_are_known_too(tmp_path):
    rows = "First_L,L,frontal,-1,2,3,lOne| Area 7 \nFirst_R,R,frontal,1,2,3,\n"
    atlas = read_atlas(written(tmp_path, f"{HEADER},other_names\n{rows}"))
    assert atlas.regions[0].other_names == ("lOne", "Area 7")
    assert atlas.regions[1].other_names == ()
    assert atlas.find("lone_volume") == atlas.find("area_7_L") == atlas.regions[0]
    assert atlas.find("rone") is None


@pytest.mark.parametrize(("x", "code"), [(-550, "atlas.outside"), (40, "atlas.crossed")])
def test_places_that_cannot_be_are_said(tmp_path, x, code):
    with warned(code):
        read_atlas(written(tmp_path, f"{HEADER}\nA,L,f,{x},20,30\n"))


def test_a_region_may_reach_over_the_midline(tmp_path, recwarn):
    read_atlas(written(tmp_path, f"{HEADER}\nA,L,f,3,20,30\nB,,f,20,20,30\n"))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lh_G&S_frontomargin", ["lh", "g", "s", "frontomargin"]),
        ("lh_G_and_S_frontomargin", ["lh", "g", "s", "frontomargin"]),
        ("X3rd.Ventricle", ["3rd", "ventricle"]),
        ("ctx-lh-insula", ["lh", "insula"]),
        ("Cerebelum_4_5_L", ["cerebellum", "4", "5", "l"]),
        ("xanthoma", ["xanthoma"]),
        (" - ", []),
    ],
)
def test_words(name, expected):
    assert words(name) == expected


def test_the_longest_reading_is_first():
    assert list(readings("Left-Accumbens-area")) == [
        ("leftaccumbensarea", ""),
        ("leftaccumbens", "area"),
    ]


def test_measures_are_taken_from_both_ends():
    found = dict(readings("mean_thickness_lh_insula_mm"))
    assert found["lhinsula"] == "thickness"
    assert len(found) == 6  # none, one or two words before, none or one after


def test_a_name_of_measures_only_keeps_one_word_at_least():
    assert all(found for found, _ in readings("mean_area"))


def test_short_keys_and_digits_stay_cut():
    assert key(["lc", "r"]) == "lc_r"
    assert key(["lcr"]) == "lcr"
    assert key(["vermis", "1", "2"]) == "vermis1_2"
    assert key(["lh", "insula"]) == "lhinsula"


def test_twins_have_one_stem():
    assert stem("lh_G_and_S_frontomargin", "L") == stem("R_G&S_frontomargin", "R")
    assert stem("Left-Caudate", "L") == stem("Caudate_R", "R") == "caudate"
    assert stem("L_shaped", "") == "lshaped"


def test_a_long_row_of_measures_is_read_in_few_ways():
    assert len(list(readings("thickness_" * 3000))) == 16


@pytest.mark.parametrize(
    "column", ["insula_thickness_lh", "insula_thickness_left", "L_thickness_insula"]
)
def test_a_measure_may_stand_between_region_and_side(column):
    region, measure = load_atlas("dk").read(column)
    assert (region.name, measure) == ("lh_insula", "thickness")


def test_the_name_of_a_segmentation_may_follow_the_side():
    assert words("lh.aparc.insula") == ["lh", "insula"]
    assert load_atlas("dk").find("lh.aparc.insula").name == "lh_insula"


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("7Networks_LH_Vis_1", "L"),
        ("ctx-rh-insula", "R"),
        ("Left-Thalamus", "L"),
        ("Right Frontal Pole", "R"),
        ("L_V1_ROI", "L"),
        ("SFG_R_7_1", "R"),
        ("G_Frontal_Sup-1-L", "L"),
        ("Vermis_3", ""),
        ("area l", ""),  # a letter in lower case is part of the name
        ("Upright area", ""),
        ("L to R", ""),  # both
    ],
)
def test_a_whole_word_is_a_side(name, side):
    assert side_of(name) == side


def test_names_of_the_package_say_what_their_tables_say():
    regions = [region for name in ATLASES for region in load_atlas(name).regions]
    said = [region for region in regions if side_of(region.name)]
    assert len(said) > 500
    assert all(side_of(region.name) == region.hemisphere for region in said)
