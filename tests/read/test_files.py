import builtins
import gzip
import hashlib
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.core.problems import InputError
from sgbn.read import files
from sgbn.read.files import from_frame, load_table, read_sheet
from sgbn.read.series import read_any


def load(source, **options):
    return load_table(source, lambda names: {"id"}, **options)


@pytest.mark.parametrize(
    ("read", "name", "code"),
    [
        (load, "cobra.csv", "file.absent"),
        (load, ".", "file.folder"),
        (load, "dangling.csv", "file.dangling"),
        (load, "a\0b.csv", "file.unreadable"),
        (read_any, "a\0b.csv", "file.unreadable"),
    ],
)
def test_a_file_that_is_absent_is_refused(tmp_path, read, name, code):
    (tmp_path / "dangling.csv").symlink_to(tmp_path / "gone.csv")
    with refused(code):
        read(f"{tmp_path}/{name}")


@pytest.mark.parametrize(("asked", "shown"), [("V_2.tsv", True), ("v3.csv", False)])
def test_a_file_is_suggested_only_if_its_name_was_given_in_other_case(tmp_path, asked, shown):
    (tmp_path / "v2.csv").write_text("id,a\n")
    with refused("file.absent") as caught:
        load(tmp_path / asked)
    assert ("v2.csv" in str(caught.value)) == shown


@pytest.mark.parametrize("cell", [[1, 2], (1,), {"a": 1}, {1}, np.zeros(2)])
def test_a_cell_that_holds_several_values_is_refused(cell):
    with refused("cells.nested"):
        load(pd.DataFrame({"id": ["x", "y"], "a": [1.5, cell]}))


@pytest.mark.parametrize(
    "text",
    [
        '{"id": {"0": "x"}, "a": {"0": 1}}',
        '[{"id": "x", "a": 1}]',
        '{"id": "x",\n "a": 1}\n',
        "[[1, 2], [3, 4]]",
        "<!DOCTYPE html><html><body>404, not found</body></html>",
        "\n<table><tr><td>id</td><td>a, b</td></tr></table>",
        "<?xml version='1.0'?><a/>",
    ],
)
def test_files_of_other_kinds_are_named(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with refused("text.other"):
        load(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.ods", "t.parquet", "t.csv.gz"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x1f\x8b broken", b"junk" * 50])
def test_a_damaged_file_is_named(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(path)
    assert name in str(caught.value)


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_damaged_bytes_give_a_table_or_an_input_error(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1.5, 2.5]})
    (frame.to_excel if suffix == ".xlsx" else frame.to_parquet)(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    n_refused = 0
    for place in rng.integers(0, len(content), 20):
        damaged = bytearray(content)
        damaged[place : place + 4] = rng.bytes(4)
        path.write_bytes(damaged)
        try:
            load(path)
        except InputError:
            n_refused += 1
    assert n_refused > 0


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
    with refused("parquet.damaged"):
        load(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx", "t.xls"])
def test_an_absent_library_is_named_with_its_remedy(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04")

    def no_library(*_, **__):
        raise ImportError("no pyarrow, openpyxl or xlrd")

    monkeypatch.setattr(pd, "read_parquet", no_library)
    monkeypatch.setattr(pd, "ExcelFile", no_library)
    with refused("library.absent"):
        load(tmp_path / name)


def test_an_index_with_a_name_text_or_numbers_of_its_own_is_a_column():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert from_frame(frame, "f").columns == ["a", "b"]
    assert from_frame(frame.set_axis(["x", "y"], axis=0), "f").columns[1:] == ["a", "b"]
    assert from_frame(frame.rename_axis("id"), "f").columns == ["id", "a", "b"]
    kept = from_frame(frame.set_axis([1007, 1003], axis=0), "f")
    assert kept.columns == ["(row names)", "a", "b"]
    assert kept.frame["(row names)"].tolist() == [1007, 1003]
    assert from_frame(frame.set_axis([0, 0], axis=0), "f").columns == ["a", "b"]
    with refused("frame.index"):
        from_frame(frame.set_index(["a", "b"]), "f")


def test_column_names_of_any_kind_are_text():
    frame = pd.DataFrame([[1, 2, 3]], columns=pd.Index([0, ("a", "b"), " c "], dtype=object))
    assert from_frame(frame, "f").columns == ["0", "a/b", "c"]


def test_nothing_is_imported_for_plain_text(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("id,a\n1,2\n")
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        assert not name.startswith("openpyxl")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert load(tmp_path / "t.csv").frame.shape == (1, 2)


def test_empty_rows_of_a_frame_are_left_out_and_the_others_keep_their_numbers():
    frame = pd.DataFrame({"id": ["a", None, "b"], "x": [1.5, np.nan, 2.5]})
    made = from_frame(frame, "t")
    assert made.frame["id"].tolist() == ["a", "b"]
    assert made.frame["x"].tolist() == [1.5, 2.5]
    assert made.frame.index.tolist() == [0, 1]
    assert made.origin.numbers.tolist() == [0, 2]
    assert made.facts["rows"] == 2


openpyxl = pytest.importorskip("openpyxl")


def read(path, **options):
    return read_sheet(path, "'t.xlsx'", lambda names: {"id"}, **options)


@pytest.fixture
def book(tmp_path):
    """Two blank rows, a header, ids of several kinds, an empty row, an empty column."""
    made = openpyxl.Workbook()
    page = made.active
    page.title = "first"
    for row in ([], [], ["id", "a", None, "b"], ["007", 1.5, None, "x"], [], [8, 2, None, None]):
        page.append(row)
    page["A6"].number_format = "000"
    made.create_sheet("second").append(["only a header"])
    path = tmp_path / "t.xlsx"
    made.save(path)
    return path


def test_cells_keep_their_types_and_places(book):
    table = read(book)
    assert table.columns == ["id", "a", "b"]
    assert table.frame["a"].tolist() == [1.5, 2]
    assert table.frame["a"].dtype == float
    assert table.origin.numbers.tolist() == [4, 6]
    assert table.facts["sheet"] == "first"
    assert table.frame["id"].tolist() == ["007", "008"]  # as the sheet shows them


def test_pandas_own_file(tmp_path):
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"id": ["01", "02"], "a": [1, None]}).to_excel(path, index=False)
    table = read(path)
    assert table.frame["id"].tolist() == ["01", "02"]
    assert table.frame["a"].isna().tolist() == [False, True]


def saved(tmp_path, *pages):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in pages:
        page = made.create_sheet(title)
        for row in rows:
            page.append(row)
    made.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


TABLE = [["id", "a"], ["x", 1.5], ["y", 2.5]]


@pytest.mark.parametrize(
    ("rows", "code"),
    [([["only a header"]], "sheet.empty"), ([["Study of 2020"], [], *TABLE], "header.below")],
)
def test_a_sheet_without_rows_or_with_a_title_is_refused(tmp_path, rows, code):
    with refused(code):
        read(saved(tmp_path, ("s", rows)))


def test_a_sheet_by_its_number_as_text_unless_one_is_called_so(tmp_path):
    path = saved(tmp_path, ("first", TABLE), ("data", TABLE))
    assert [read(path, sheet=text).facts["sheet"] for text in "12"] == ["first", "data"]
    assert read(path, sheet=0).facts["sheet"] == "first"
    for sheet in ("0", "third", 2, -1):
        with refused("sheet.unknown"):
            read(path, sheet=sheet)
    path = saved(tmp_path, ("first", TABLE), ("1", TABLE))
    assert read(path, sheet="1").facts["sheet"] == "1"


def test_errors_of_formulas_are_kept_and_not_available_is_missing(tmp_path):
    rows = [[], ["id", "a", "b"], ["x", "#DIV/0!", 1.5], ["y", "#N/A", 2.5], ["z", 3, "#REF!"]]
    frame = read(saved(tmp_path, ("s", rows))).frame
    assert frame["a"].isna().tolist() == [False, True, False]
    assert (frame["a"][0], frame["b"][2]) == ("#DIV/0!", "#REF!")


@pytest.mark.parametrize("place", ["XFD1048576", "B100000000000"])
def test_a_stray_cell_far_out_does_not_fill_the_memory(book, place, monkeypatch):
    with zipfile.ZipFile(book) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    page = "xl/worksheets/sheet1.xml"
    number = place.lstrip("BDFX").encode()
    stray = b'<row r="%b"><c r="%b"><v>1</v></c></row></sheetData>' % (number, place.encode())
    parts[page] = parts[page].replace(b"</sheetData>", stray)
    with zipfile.ZipFile(book, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with refused("sheet.extent"):
        read(book)
    monkeypatch.setattr(files, "MAX_PAGE_BYTES", 500)
    with refused("file.large"):
        read(book)


def test_columns_are_counted_as_excel_does():
    assert [files._number_of(one) for one in (b"A", b"z", b"AA", b"XFD")] == [1, 26, 27, 16384]
