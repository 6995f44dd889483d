import zipfile

import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read import files
from sgbn.read.files import read_sheet

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


def test_leading_zeros_that_a_sheet_shows_are_kept(book):
    assert read(book).frame["id"].tolist() == ["007", "008"]


def test_sheets_by_name_or_number(book):
    assert read(book, sheet=0).facts["sheet"] == "first"
    with pytest.raises(InputError, match="sheet 'second' has no rows"):
        read(book, sheet="second")
    for sheet in ("third", 2, -1):
        with pytest.raises(InputError, match="Choose one of 'first', 'second'"):
            read(book, sheet=sheet)


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


def test_an_empty_first_sheet_names_the_others(tmp_path):
    path = saved(tmp_path, ("notes", [["about"]]), ("data", TABLE))
    with pytest.raises(InputError, match=r"sheet 'notes' has no rows.*--sheet\): 'data'"):
        read(path)


def test_a_sheet_by_its_number_as_text_unless_one_is_called_so(tmp_path):
    path = saved(tmp_path, ("first", TABLE), ("data", TABLE))
    assert [read(path, sheet=text).facts["sheet"] for text in "12"] == ["first", "data"]
    with pytest.raises(InputError, match=r"no sheet '0'.*'first', 'data'"):
        read(path, sheet="0")
    path = saved(tmp_path, ("first", TABLE), ("1", TABLE))
    assert read(path, sheet="1").facts["sheet"] == "1"


def test_a_title_above_the_header_is_pointed_out(tmp_path):
    path = saved(tmp_path, ("s", [["Study of 2020"], [], *TABLE]))
    with pytest.raises(InputError, match="sheet 's': the header seems to be in row 3"):
        read(path)


def test_errors_of_formulas_are_kept_and_not_available_is_missing(tmp_path):
    rows = [[], ["id", "a", "b"], ["x", "#DIV/0!", 1.5], ["y", "#N/A", 2.5], ["z", 3, "#REF!"]]
    frame = read(saved(tmp_path, ("s", rows))).frame
    assert frame["a"].isna().tolist() == [False, True, False]
    assert (frame["a"][0], frame["b"][2]) == ("#DIV/0!", "#REF!")


@pytest.mark.parametrize("place", ["XFD1048576", "B100000000000"])
def test_a_stray_cell_far_out_does_not_fill_the_memory(book, place):
    with zipfile.ZipFile(book) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    page = "xl/worksheets/sheet1.xml"
    number = place.lstrip("BDFX").encode()
    stray = b'<row r="%b"><c r="%b"><v>1</v></c></row></sheetData>' % (number, place.encode())
    parts[page] = parts[page].replace(b"</sheetData>", stray)
    with zipfile.ZipFile(book, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match=rf"reaches to row {number.decode()} .* Delete the cells"):
        read(book)


def test_a_page_too_large_to_unpack_is_refused(book, monkeypatch):
    monkeypatch.setattr(files, "MAX_PAGE_BYTES", 500)
    with pytest.raises(InputError, match=r"unpacks to more than .* Save the table as CSV"):
        read(book)


def test_columns_are_counted_as_excel_does():
    assert [files._number_of(one) for one in (b"A", b"z", b"AA", b"XFD")] == [1, 26, 27, 16384]
