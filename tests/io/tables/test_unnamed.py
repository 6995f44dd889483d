import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.core.exceptions import InputError
from sgbn.prepare.review import review
from sgbn.read.files import from_frame
from sgbn.read.roles import site_columns, unnamed_sites
from sgbn.read.table import read_freesurfer, read_table

N = 40
GROUP = ["CTR", "SCZ"] * (N // 2)


@pytest.fixture
def table():
    """Table of four regions that no atlas knows, and two groups."""
    values = np.random.default_rng(0).normal(3, 0.2, (N, 6))
    frame = pd.DataFrame(values, columns=[f"roi{k}" for k in range(6)])
    frame.insert(0, "dx", GROUP)
    frame.insert(0, "id", [f"s{k:02}" for k in range(N)])
    return frame


SITES = (
    *("site", "SITE_ID", "siteid", "Scanner", "scanner model", "ScannerModel", "centre", "Center"),
    *("manufacturer", "MRI_site", "acquisition site", "hospital", "study-site", "Vendor"),
    *(
        "scanner_manufacturer",
        "scanner_type",
        "site_scanner",
        "MRI_machine",
        "data_site",
        "centers",
    ),
    *(
        "field_strength",
        "FieldStrength",
        "batch",
        "MagneticFieldStrength",
        "ManufacturersModelName",
    ),
)


def test_columns_of_sites_are_known_by_their_names():
    assert site_columns(SITES) == list(SITES)
    none = ["opposite", "centrum", "center of mass", "parasite", "roi1", "onsite", "lesion_site"]
    none += ["site of onset", "machine_learning_score", "CC_Central", "frontal eye field"]
    assert site_columns(none) == []


@pytest.mark.parametrize("atlas", sorted(ATLASES))
def test_no_region_of_an_atlas_is_taken_for_a_site(atlas):
    assert site_columns(region.name for region in load_atlas(atlas).regions) == []


@pytest.mark.parametrize(
    ("sites", "told"),
    [
        (["A", "B"] * 20, 1.0),
        (["A", "A", "B", "B"] * 10, 0.0),
        (["A", "B"] * 18 + ["B", "B", "A", "A"], 0.9),
        ([f"{k % 2}{k % 10}" for k in range(N)], 1.0),
    ],
)
def test_it_is_counted_how_far_a_site_tells_the_group(table, sites, told):
    made = from_frame(table.assign(site=sites), "t")
    found = unnamed_sites(made, made.columns, GROUP)
    assert found == {"site": {"sites": len(set(sites)), "told": pytest.approx(told)}}


@pytest.mark.parametrize("sites", [["A"] * N, [f"x{k}" for k in range(N)]])
def test_one_label_and_one_per_row_are_no_sites(table, sites):
    made = from_frame(table.assign(site=sites), "t")
    assert unnamed_sites(made, made.columns, GROUP) == {}


def test_a_site_that_is_the_group_stops_until_it_is_named_or_left_out(table):
    table["scanner"] = np.where(table["dx"] == "CTR", "Siemens", "GE")
    (stop,) = review(read_table(table, group="dx", regions="roi*")).stops
    assert "'scanner' looks like sites" in stop.what
    assert "--exclude scanner" in stop.action
    assert review(read_table(table, group="dx", regions="roi*", exclude="scanner")).stops == ()
    (stop,) = review(read_table(table, group="dx", regions="roi*", site="scanner")).stops
    assert "every site has subjects of one group only" in stop.what
    assert "--exclude" in stop.action
    assert review(read_table(table, group="scanner", regions="roi*", exclude="dx")).stops == ()


def test_sites_of_participants_are_asked_about_too(table):
    people = table[["id", "dx"]].assign(site=[1, 2] * 20, iq=100)
    regions = table.drop(columns="dx")
    options = {"group": "dx", "regions": "all", "participants": people}
    (stop,) = review(read_table(regions, **options)).stops
    assert "'site'" in stop.what
    quiet = read_table(regions, **options, exclude="site")
    assert review(quiet).stops == ()
    assert len(quiet.regions) == 6
    assert read_table(regions, **options, site="site").site.tolist() == ["1", "2"] * 20
    lh = regions.set_axis(["id", *(f"lh_{x}_thickness" for x in NAMES)], axis=1)
    assert review(read_freesurfer(lh, group="dx", participants=people)).stops


NAMES = ("insula", "cuneus", "lingual", "precuneus", "fusiform", "bankssts")


def test_all_stops_at_what_looks_like_something_else(table):
    table["age"] = np.linspace(20.5, 60.5, N)
    table["male"] = [0, 1] * 20
    table["code"] = np.arange(N) + 4711
    table["smokes"] = [0.0, 2.5] * 20
    table["visits"] = [1, 2, 3, 4] * 10
    table["Site"] = [1, 2, 3, 4] * 10
    with pytest.raises(InputError) as error:
        read_table(table, group="dx", regions="all")
    text = str(error.value)
    for said in (
        *("'age' (by its name)", "'male' (by its name)", "'smokes' (two values)"),
        *("'code' (whole numbers, all different)", "'visits' (whole numbers)"),
        *("'Site' (by its name)", "--covariates age male smokes", "--exclude code", "--site Site"),
    ):
        assert said in text
    named = {"covariates": ["age", "male", "smokes", "visits"], "exclude": "code", "site": "Site"}
    assert len(read_table(table, group="dx", regions="all", **named).regions) == 6
    listed = read_table(table, group="dx", regions=["roi*", "age", "male"], exclude="Site")
    assert listed.regions[-2:] == ("age", "male")


def test_whole_numbers_are_regions_where_most_columns_are(table):
    regions = [f"roi{k}" for k in range(6)]
    table[regions] = (1000 * table[regions]).round().astype(int)
    assert len(read_table(table, group="dx", regions="all").regions) == 6


def test_regions_that_an_atlas_knows_are_never_asked_about(table):
    frame = table.set_axis(["id", "dx", *(f"lh_{x}_thickness" for x in NAMES)], axis=1)
    frame["lh_insula_thickness"] = [2, 3] * 20
    assert len(read_table(frame, group="dx", regions="all").regions) == 6
