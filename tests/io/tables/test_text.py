import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.text import parse_text


def parse(text, **options):
    content = text if isinstance(text, bytes) else text.encode()
    return parse_text(content, "'t.csv'", lambda names: {"id"}, **options)


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        ("id,a\n1,2.5\n", ",", "."),
        ("id;a\n1;2,5\n", ";", ","),
        ("id;a\n1;2.5\n", ";", "."),
        ("id\ta\n1\t2,5\n", "\t", ","),
        ("id|a|b\n1|2,5|3\n", "|", ","),
        ("id  a   b\n1   2    3\n", "blanks", "."),
        ("id a,b\nx y,2\n", ",", "."),
        ('id;"a,b"\n1;2\n', ";", "."),
        ('id,"a;b;c"\n1,2\n', ",", "."),
        ("id;a\nx,y;2.5\n", ";", "."),
        ("id;a;b\n1;2,5;7\n2;2,75;6.0\n", ";", ","),
        ("id;a;b\n1;2.5;7.5\n2;2,75;6.0\n", ";", "."),
        ("id;a;b\n1;0,125;7\n2;1,250;6\n", ";", ","),
        ("id;a;b\n1;1.5;1.25\n2;1,250;6\n", ";", "."),
    ],
)
def test_delimiter_and_decimal_mark_are_found(text, delimiter, decimal):
    facts = parse(text).facts
    assert (facts["delimiter"], facts["decimal"]) == (delimiter, decimal)


@pytest.mark.parametrize("delimiter", ["\t", r"\t", "tab"])
def test_a_tab_can_be_given_in_words(delimiter):
    assert parse("id\ta\n1\t2\n", delimiter=delimiter).columns == ["id", "a"]


def test_rows_are_numbered_as_in_the_file():
    table = parse("\n\nid,a\n1,2\n\n,\n3,4\n\n")
    assert table.origin.numbers.tolist() == [4, 7]
    assert table.where(1, "a") == "'t.csv', row 7, column 'a'"


def test_encodings_are_said():
    assert parse("id,ä\n1,2\n").facts["encoding"] == "utf-8"
    assert parse("id,ä\n1,2\n".encode("latin-1")).facts["encoding"] == "latin-1"
    table = parse("id,ä\n1,2\n".encode("utf-16"))
    assert (table.facts["encoding"], table.columns) == ("utf-16", ["id", "ä"])


def test_utf_16_that_is_cut_off_is_refused():
    with pytest.raises(
        InputError, match=r"^'t\.csv' is not complete UTF-16 text\. Save it as UTF-8"
    ):
        parse("id,ä\n1,2\n".encode("utf-16")[:-1])


def test_text_columns_stay_as_written():
    assert parse("id,a\n007,1\n1e5,2\n").frame["id"].tolist() == ["007", "1e5"]


def test_a_ragged_row_far_down_is_found():
    rows = [f"{k},{k}.5,1" for k in range(500)]
    rows[400] = "400,1.5"
    with pytest.raises(InputError, match="row 402 has 2 cells, but the header has 3"):
        parse("\n".join(["id,a,b", *rows]))
    rows[400] = "400,1.5,1,9"
    with pytest.raises(InputError, match="row 402 has 4 cells, but the header has 3"):
        parse("\n".join(["id,a,b", *rows]))
    rows[400] = "400,1.5,1,,"
    assert parse("\n".join(["id,a,b", *rows])).frame.shape == (500, 3)


def test_a_quote_inside_a_plain_cell_opens_nothing():
    for row in ('{},2.5 "of 3,', '{},3",4', '{},3" 4" 5",'):
        rows = "".join(row.format(k) + "\n" for k in range(80))
        assert parse("id,note,b\n" + rows).frame.shape == (80, 3)


def test_an_open_quote_is_an_error():
    with pytest.raises(InputError, match="quote"):
        parse('id,a\n1,"2\n3,4\n')
    with pytest.raises(InputError, match=r"t\.csv"):
        parse('"id,a\n1,2\n3,4\n')


def test_numbers_are_read_exactly():
    numbers = [0.1, 1 / 3, 2.5000000000000004, 123456789.123456789, 5e-324]
    table = parse("id,a\n" + "".join(f"x,{number!r}\n" for number in numbers))
    assert table.frame["a"].tolist() == numbers


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("My study\nid,a,b\nx,1,2\ny,2,3\n", 2),
        ("Study\nid,a,b\nx,1,2\n", 2),
        ("Study 2020, wave 1\nid,a,b\nx,1,2\ny,2,3\n", 2),
        ("Study;;\n\nby me;;\nid;a;b\nx;1,5;2\n", 4),
        ("\n\nStudy\tx\t\nid\ta\tb\nx\t1.5\t2\n", 4),
    ],
)
def test_a_title_above_the_header_is_pointed_out(text, row):
    with pytest.raises(InputError, match=f"header seems to be in row {row}. Remove the rows above"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "id,a,b\nx,y,\nz,,1\n",
        "id,a,\nx,NA,NA\ny,1,\n",
        "a b\n1 x 2\n2 y 3\n",
        "id;n\nx;a, b\ny;c, 5\n",
    ],
)
def test_a_header_above_odd_rows_is_no_title(text):
    assert len(parse(text).frame) == 2


def test_row_names_are_no_decimals():
    assert parse("a,b\nr1,1,2\nr2,3,4\n").columns[0] == "(row names)"
    with pytest.raises(InputError, match="row 2 has 3 cells, but the header has 2"):
        parse("a,b\n2.5,1,2\n2.25,3,4\n")


def test_a_cell_of_several_lines_may_cross_the_end_of_the_sample():
    rows = [f"{k},1,x" for k in range(48)] + ['48,"one\ntwo",x', "49,1,x"]
    assert parse("id,a,b\n" + "\n".join(rows) + "\n").frame.shape == (50, 3)


def test_a_delimiter_in_a_quoted_cell_may_cross_the_end_of_the_sample():
    for lines in range(40, 60):
        rows = [f"{k},1,x" for k in range(lines)] + ['n,"one, two,\nthree, four",x', "m,1,x"]
        assert parse("id,a,b\n" + "\n".join(rows) + "\n").frame.shape == (lines + 2, 3)
