import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.freesurfer import (
    VOXELS,
    Parcellation,
    choose_aseg,
    choose_parcellation,
    choose_segmentation,
    parcellation_atlas,
    parcellations,
    preferred,
    stats_names,
)

FREESURFER = stats_names(
    [
        *(f"{side}.{name}.stats" for side in ("lh", "rh") for name in ("aparc", "aparc.a2009s")),
        *(
            "lh.aparc.DKTatlas.stats",
            "rh.aparc.DKTatlas.stats",
            "lh.curv.stats",
            "lh.w-g.pct.stats",
        ),
        *("aseg.stats", "wmparc.stats", "aseg.stats.bak"),
        *(
            "thalamic-nuclei.lh.v13.T1.stats",
            "thalamic-nuclei.rh.v13.T1.stats",
            "brainstem.v13.stats",
        ),
    ]
)
FASTSURFER = stats_names(
    [
        *("lh.aparc.DKTatlas.mapped.stats", "rh.aparc.DKTatlas.mapped.stats", "aseg.stats"),
        *("aseg+DKT.VINN.stats", "aseg.VINN.stats", "hypothalamus.HypVINN.stats"),
    ]
)
SEG_ONLY = stats_names(["aseg+DKT.stats", "aseg.VINN.stats", "cerebellum.CerebNet.stats"])


def test_parcellations_stand_in_order_of_preference():
    found = parcellations([FREESURFER, FREESURFER, FASTSURFER])
    names = ["aparc", "aparc.DKTatlas", "aparc.DKTatlas.mapped", "aparc.a2009s", "aseg+DKT.VINN"]
    assert list(found) == names
    assert found["aparc"] == 2


@pytest.mark.parametrize(
    ("asked", "measure", "subjects", "name"),
    [
        (None, None, [FREESURFER], "aparc"),
        (None, None, [FASTSURFER], "aparc.DKTatlas.mapped"),
        (None, None, [SEG_ONLY], "aseg+DKT"),
        (None, "thickness", [FASTSURFER, SEG_ONLY, SEG_ONLY], "aparc.DKTatlas.mapped"),
        ("DKT", None, [FREESURFER], "aparc.DKTatlas"),
        ("DKT", None, [FASTSURFER], "aparc.DKTatlas.mapped"),
        ("destrieux", None, [FREESURFER], "aparc.a2009s"),
        ("aseg+DKT.VINN", "volume", [FASTSURFER], "aseg+DKT.VINN"),
        ("mine", None, [{"lh.mine", "rh.mine"}], "mine"),
        (None, None, [{"lh.mine", "rh.mine"}], "mine"),
        (None, None, [FREESURFER, FREESURFER, SEG_ONLY], "aparc"),
        (None, None, [FREESURFER, SEG_ONLY, SEG_ONLY], "aseg+DKT"),
    ],
)
def test_one_parcellation_is_chosen_for_all(asked, measure, subjects, name):
    chosen = choose_parcellation(asked, measure, [frozenset(one) for one in subjects])
    assert chosen == Parcellation(name, not name.startswith("aseg"))


@pytest.mark.parametrize(
    ("name", "atlas"),
    [
        ("aparc", "desikan_killiany"),
        ("aparc.DKTatlas", "dkt"),
        ("aparc.DKTatlas.mapped", "dkt"),
        *((name, "dkt") for name in VOXELS),
        ("aparc.a2009s", "destrieux"),
        ("Schaefer2018_200Parcels_7Networks_order", "schaefer_200_7"),
        ("aparc_DK40", "desikan_killiany"),
        ("aparc_HCP_MMP1", "glasser"),
        ("neuromorphometrics", "neuromorphometrics"),
    ],
)
def test_parcellations_have_their_atlas(name, atlas):
    assert parcellation_atlas(name).name == atlas


@pytest.mark.parametrize("name", [None, "BA_exvivo", "cobra"])
def test_parcellations_without_an_atlas(name):
    assert parcellation_atlas(name) is None


def test_files_of_a_parcellation():
    assert Parcellation("aparc", True).files == ("lh.aparc", "rh.aparc")
    assert Parcellation("aseg+DKT", False).files == ("aseg+DKT",)


def test_what_nobody_has_is_an_error():
    with pytest.raises(InputError, match=r"no subject has the parcellation 'aparc\.a209s'.*a2009s"):
        choose_parcellation("aparc.a209s", None, [FREESURFER])
    with pytest.raises(InputError, match=r"no thickness in 'aseg.DKT'.*--seg_only"):
        choose_parcellation(None, "thickness", [SEG_ONLY])
    with pytest.raises(InputError, match="no subject has a table of the thalamus"):
        choose_segmentation("thalamus", [SEG_ONLY])
    assert choose_parcellation(None, None, [frozenset({"aseg"})]) is None
    assert choose_aseg([frozenset({"lh.aparc"})]) is None


def test_volumes_after_surfaces_are_preferred():
    assert choose_aseg([FREESURFER]) == choose_aseg([FASTSURFER]) == "aseg"
    assert choose_aseg([FASTSURFER, SEG_ONLY, SEG_ONLY]) == "aseg.VINN"


def test_segmentations_have_one_file_or_one_per_side():
    sides = ("thalamic-nuclei.lh.v13.T1", "thalamic-nuclei.rh.v13.T1")
    assert choose_segmentation("thalamus", [FREESURFER]) == sides
    assert choose_segmentation("brainstem", [FREESURFER]) == ("brainstem.v13",)
    assert choose_segmentation("hypothalamus", [FASTSURFER]) == ("hypothalamus.HypVINN",)
    assert choose_segmentation("cerebellum", [SEG_ONLY]) == ("cerebellum.CerebNet",)


def test_the_version_of_a_segmentation_that_most_have_is_read():
    old, new = (frozenset({f"brainstem.v{k}"}) for k in (12, 13))
    assert choose_segmentation("brainstem", [old, new]) == ("brainstem.v13",)
    assert choose_segmentation("brainstem", [old, old, new]) == ("brainstem.v12",)


def test_preferred_is_the_first_of_half_else_the_most_frequent():
    assert preferred({"a": 2, "b": 4}, ["a", "b"], 4) == "a"
    assert preferred({"a": 1, "b": 1, "c": 2}, ["a", "b", "c"], 5) == "c"
    assert preferred({"a": 1, "b": 1}, ["a", "b"], 5) == "a"
