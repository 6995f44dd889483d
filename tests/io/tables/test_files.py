import builtins
import gzip
import hashlib

import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.files import from_frame, load_table


def load(source, **options):
    return load_table(source, lambda names: {"id"}, **options)


def test_a_file_that_is_absent_is_looked_for(tmp_path):
    (tmp_path / "cobre.csv").write_text("id,a\n1,2\n")
    with pytest.raises(InputError, match=r"no file .*cobra.csv'. Did you mean 'cobre.csv'"):
        load(tmp_path / "cobra.csv")
    with pytest.raises(InputError, match="Check the path"):
        load(tmp_path / "absent" / "cobre.csv")
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.ods", "t.parquet", "t.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x1f\x8b broken", b"junk" * 50])
def test_a_damaged_file_is_named(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name):
        load(path)


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_damaged_bytes_give_a_table_or_an_input_error(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1.5, 2.5]})
    (frame.to_excel if suffix == ".xlsx" else frame.to_parquet)(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.integers(0, len(content), 20):
        damaged = bytearray(content)
        damaged[place : place + 4] = rng.bytes(4)
        path.write_bytes(damaged)
        try:
            load(path)
        except InputError:
            refused += 1
    assert refused > 0


def test_old_spreadsheets_need_another_format(tmp_path, monkeypatch):
    (tmp_path / "t.xls").write_bytes(b"x")

    def no_library(*_, **__):
        raise ImportError("no xlrd")

    monkeypatch.setattr(pd, "ExcelFile", no_library)
    with pytest.raises(InputError, match=r"Save .* as \.xlsx or CSV"):
        load(tmp_path / "t.xls")


def test_the_hash_is_that_of_the_file(tmp_path):
    content = gzip.compress(b"id,a\n1,2\n")
    (tmp_path / "t.csv.gz").write_bytes(content)
    facts = load(tmp_path / "t.csv.gz").facts
    assert facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert facts["source"] == str(tmp_path / "t.csv.gz")


def test_a_gzipped_table_needs_no_more_memory_than_it_has_bytes(tmp_path, monkeypatch):
    asked = []

    class Watched(gzip.GzipFile):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    monkeypatch.setattr(gzip, "GzipFile", Watched)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"id,a\n1,2\n"))
    assert load(tmp_path / "t.csv.gz").columns == ["id", "a"]
    assert max(asked) <= 2**20  # gzip sets aside what it is asked for


def test_text_in_parquet_that_is_no_utf8_is_refused_with_the_file(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"id": ["Koeln"], "a": [1.0]}).to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"Koeln", b"K\xf6\xf6ln"))
    with pytest.raises(InputError, match=r"t\.parquet' is damaged, or is not a Parquet file"):
        load(path)


@pytest.mark.parametrize(("name", "module"), [("t.parquet", "pyarrow"), ("t.xlsx", "openpyxl")])
def test_an_absent_library_is_named_with_its_remedy(tmp_path, monkeypatch, name, module):
    (tmp_path / name).write_bytes(b"PK\x03\x04")

    def no_library(*_, **__):
        raise ImportError(f"no {module}")

    monkeypatch.setattr(pd, "read_parquet", no_library)
    monkeypatch.setattr(pd, "ExcelFile", no_library)
    with pytest.raises(InputError, match=r'pip install "sgbn\[tables\]"'):
        load(tmp_path / name)


def test_an_index_with_a_name_or_text_is_a_column():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert from_frame(frame, "f").columns == ["a", "b"]
    assert from_frame(frame.set_axis(["x", "y"], axis=0), "f").columns[1:] == ["a", "b"]
    assert from_frame(frame.rename_axis("id"), "f").columns == ["id", "a", "b"]
    with pytest.raises(InputError, match="reset_index"):
        from_frame(frame.set_index(["a", "b"]), "f")


def test_column_names_of_any_kind_are_text():
    frame = pd.DataFrame([[1, 2, 3]], columns=pd.Index([0, ("a", "b"), " c "], dtype=object))
    assert from_frame(frame, "f").columns == ["0", "a/b", "c"]
    with pytest.raises(InputError, match="columns 1 and 2 are both called '1'"):
        from_frame(pd.DataFrame([[1, 2]], columns=[1, "1"]), "f")


def test_nothing_is_imported_for_plain_text(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("id,a\n1,2\n")
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        assert not name.startswith("openpyxl")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert load(tmp_path / "t.csv").frame.shape == (1, 2)


def test_an_index_that_does_not_count_from_zero_is_kept():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    kept = from_frame(frame.set_axis([1007, 1003], axis=0), "f")
    assert kept.columns == ["(row names)", "a", "b"]
    assert kept.frame["(row names)"].tolist() == [1007, 1003]
    assert from_frame(frame.set_axis([0, 0], axis=0), "f").columns == ["a", "b"]


def test_marks_are_text():
    with pytest.raises(InputError, match="delimiter is 5"):
        load(pd.DataFrame({"a": [1], "b": [2]}), delimiter=5)


def test_empty_rows_of_a_frame_are_left_out_and_the_others_keep_their_numbers():
    frame = pd.DataFrame({"id": ["a", None, "b"], "x": [1.5, np.nan, 2.5]})
    made = from_frame(frame, "t")
    assert made.frame["id"].tolist() == ["a", "b"]
    assert made.frame["x"].tolist() == [1.5, 2.5]
    assert made.frame.index.tolist() == [0, 1]
    assert made.origin.numbers.tolist() == [0, 2]
    assert made.facts["rows"] == 2
