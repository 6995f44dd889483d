import numpy as np
import pytest

from sgbn import Cohort
from sgbn.core.exceptions import InputError
from sgbn.paper.experiments.experiment import data_folder, most_different, one_site, read_neuro


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("SGBN_DATA", str(tmp_path / "absent"))
    with pytest.raises(InputError, match="absent', which is not a folder"):
        data_folder()
    monkeypatch.delenv("SGBN_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_folder() is None


def test_the_regions_that_differ_most_are_chosen():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((60, 6))
    group = np.repeat(["SCZ", "CTR"], 30)
    values[:30, [1, 4]] += 3.0
    cohort = Cohort(values, list("abcdef"), [f"s{k}" for k in range(60)], group=group)
    chosen = most_different(cohort, n_regions=2)
    assert chosen.regions == ("b", "e")
    assert len(chosen) == 60


@pytest.mark.parametrize(
    ("name", "shape", "sizes"),
    [
        ("cobre_scz", (124, 173), {"CTR": 63, "SCZ": 61}),
        ("ixi_age", (558, 68), {"MID": 187, "OLD": 173, "YOUNG": 198}),
        ("abide1_asd", (1035, 93), {"ASD": 505, "CTR": 530}),
    ],
)
def test_the_real_tables_have_the_stated_size(name, shape, sizes):
    folder = data_folder()
    if folder is None or not (folder / "neuro" / f"{name}.csv").exists():
        pytest.skip("the real tables are not part of the package: set SGBN_DATA to their folder")
    cohort = read_neuro(folder, name)
    assert cohort.values.shape == shape
    assert cohort.sizes == sizes


def test_one_site_is_none():
    rng = np.random.default_rng(0)
    ids = [f"s{k}" for k in range(4)]
    cohort = Cohort(rng.standard_normal((4, 2)), ["a", "b"], ids, site=["x", "x", "y", "y"])
    assert one_site(cohort) is cohort
    assert one_site(cohort.subset([0, 1])).site is None


def test_a_covariate_that_is_left_out_does_not_become_a_region(tmp_path):
    (tmp_path / "neuro").mkdir()
    rows = "".join(f"s{k},{'AB'[k % 2]},x,{20 + k},{k % 3},{k},{k * k},{k**3}\n" for k in range(12))
    header = "subject_id,group,site,age,sex,eTIV,insula,cuneus\n"
    (tmp_path / "neuro" / "cobre_scz.csv").write_text(header + rows)
    cohort = read_neuro(tmp_path, "cobre_scz", exclude="age")
    assert list(cohort.covariates) == ["sex", "eTIV"]
    assert cohort.regions == ("insula", "cuneus")
