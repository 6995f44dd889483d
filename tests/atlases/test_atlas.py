"""Atlases find their regions in every spelling, and nothing else."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.atlas import (
    ATLASES,
    MAX_SHORT_KEY,
    MEASURES,
    Atlas,
    Region,
    load_atlas,
    other_keys,
    own_keys,
)

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


def assert_found_in_every_spelling(atlas, regions):
    for style in STYLES.values():
        for region in regions:
            for spelling in spellings(region):
                assert atlas.find(style(spelling)) == region, style(spelling)


def assert_found_with_measure(atlas, region, word):
    for column in (
        f"{region.name}_{word}",
        f"{word}.{region.name}",
        f"{region.name}_{word}_mm",
    ):
        assert atlas.read(column) == (region, MEASURES[word]), column


@pytest.mark.parametrize("name", SPELT)
def test_regions_are_found_in_every_spelling(name):
    atlas = load_atlas(name)
    step = 1 + len(atlas.regions) // 10  # odd and even places: both hemispheres
    assert_found_in_every_spelling(atlas, atlas.regions[:: step | 1])


@pytest.mark.long
@pytest.mark.parametrize("name", SPELT)
def test_every_region_is_found_in_every_spelling(name):
    atlas = load_atlas(name)
    assert_found_in_every_spelling(atlas, atlas.regions)


@pytest.mark.parametrize("name", SPELT)
def test_a_region_is_found_with_every_measure(name):
    atlas = load_atlas(name)
    for region, word in zip(cycle(atlas.regions), MEASURES, strict=False):
        assert_found_with_measure(atlas, region, word)


@pytest.mark.long
@pytest.mark.parametrize("name", SPELT)
def test_every_region_is_found_with_every_measure(name):
    atlas = load_atlas(name)
    for region in atlas.regions:
        for word in MEASURES:
            assert_found_with_measure(atlas, region, word)


@pytest.mark.parametrize("name", ATLASES)
def test_no_key_is_of_two_regions(name):
    owner: dict[str, Region] = {}
    for region in load_atlas(name).regions:
        for key in own_keys(region) | other_keys(region):
            assert owner.setdefault(key, region) == region, key


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
        *(
            "insulation",
            "rate",
            "left_handed",
            "handedness",
            "thickness",
            "volume",
            "lh",
            "rh_area",
        ),
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
