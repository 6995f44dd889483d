import pytest
from tests.codes import refused

import sgbn.read.text as text_module
from sgbn.read.cells import Missing
from sgbn.read.cells import parse as parse_cells
from sgbn.read.text import MAX_DEPTH, parse_text, xml_tree


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


def test_encodings_are_said():
    assert parse("id,ä\n1,2\n").facts["encoding"] == "utf-8"
    assert parse("id,ä\n1,2\n".encode("latin-1")).facts["encoding"] == "latin-1"
    table = parse("id,ä\n1,2\n".encode("utf-16"))
    assert (table.facts["encoding"], table.columns) == ("utf-16", ["id", "ä"])


def test_text_columns_stay_as_written():
    assert parse("id,a\n007,1\n1e5,2\n").frame["id"].tolist() == ["007", "1e5"]


def test_a_ragged_row_far_down_is_found():
    rows = [f"{k},{k}.5,1" for k in range(500)]
    for rows[400] in ("400,1.5", "400,1.5,1,9"):
        with refused("rows.length"):
            parse("\n".join(["id,a,b", *rows]))
    rows[400] = "400,1.5,1,,"
    assert parse("\n".join(["id,a,b", *rows])).frame.shape == (500, 3)


def test_a_quote_inside_a_plain_cell_opens_nothing():
    for row in ('{},2.5 "of 3,', '{},3",4', '{},3" 4" 5",'):
        rows = "".join(row.format(k) + "\n" for k in range(80))
        assert parse("id,note,b\n" + rows).frame.shape == (80, 3)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('id,a\n1,"2\n3,4\n', "rows.unreadable"),
        ('"id,a\n1,2\n3,4\n', "columns.one"),
        ("a,b\n2.5,1,2\n2.25,3,4\n", "rows.length"),
        ("id,ä\n1,2\n".encode("utf-16")[:-1], "text.utf16"),
    ],
)
def test_an_open_quote_a_number_as_row_name_and_half_a_letter_are_refused(text, code):
    with refused(code):
        parse(text)


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
    with refused("header.below") as caught:
        parse(text)
    assert caught.value.problem.values["row"] == row


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


def test_a_cell_of_several_lines_may_cross_the_end_of_the_sample():
    rows = [f"{k},1,x" for k in range(48)] + ['48,"one\ntwo",x', "49,1,x"]
    assert parse("id,a,b\n" + "\n".join(rows) + "\n").frame.shape == (50, 3)


def test_a_delimiter_in_a_quoted_cell_may_cross_the_end_of_the_sample():
    for lines in range(40, 60):
        rows = [f"{k},1,x" for k in range(lines)] + ['n,"one, two,\nthree, four",x', "m,1,x"]
        assert parse("id,a,b\n" + "\n".join(rows) + "\n").frame.shape == (lines + 2, 3)


def test_commas_of_thousands_or_decimals_are_asked_for():
    text = "id;a;b\n1;1,250;7\n2;12,500;6\n"
    with refused("marks.comma"):
        parse(text)
    assert parse(text, decimal=",").frame["a"].tolist() == [1.25, 12.5]
    assert parse(text, decimal=".").frame["a"].tolist() == ["1,250", "12,500"]


def numbers(table):
    return {name: parse_cells(table, name, Missing()).values.tolist() for name in table.columns[1:]}


@pytest.mark.parametrize("mark", [";", "\t", "|", " "])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("b", ["3 4 -7", "0.938 2.125 1.5", "1.0 12.03 0"])
def test_points_of_thousands_or_decimals_are_asked_for_by_column(mark, quote, b):
    rows = [["id", "b", "a"], *zip("123", b.split(), ["2.449", "12.002", "938"], strict=True)]
    text = "".join(mark.join(quote + cell + quote for cell in row) + "\n" for row in rows)
    with refused("marks.point"):
        numbers(parse(text))
    assert numbers(parse(text, decimal="."))["a"] == [2.449, 12.002, 938]
    assert numbers(parse(text.replace("938", "938.000")))["a"][2] == 938


def test_points_are_asked_for_however_far_down_the_whole_number_is():
    rows = "".join(f"s{k};2.{k % 900 + 100};1.000\n" for k in range(9000))
    assert len(numbers(parse("id;a;b\n" + rows))["b"]) == 9000
    with refused("marks.point") as caught:
        numbers(parse("id;a;b\n" + rows + "x;2.100;5\n"))
    assert caught.value.problem.values["whole"] == "5"


@pytest.mark.parametrize(
    "column",
    [
        "2.449 2.002 1.000",  # thickness as FreeSurfer writes it
        "2.449 0 NA",  # 0 is the same number in both readings
        "2.449 938 0.938",  # a number cannot begin with a group of zero
        "2.449 938 2.12",
        "2.449 938.1234 7",
        "2.449 1234.567 938",
        "2.449e3 938 7",
    ],
)
def test_points_that_separate_decimals_are_no_question(column):
    # The age and the id have no part in it.
    rows = [f"{k}.449;{cell};{65 + k}\n" for k, cell in enumerate(column.split())]
    table = parse("id;a;age\n" + "".join(rows))
    assert numbers(table)["a"][0] in (2.449, 2449)
    assert table.frame["a"].dtype.kind == "f"


def test_points_in_cells_that_commas_separate_are_no_question():
    assert numbers(parse("id,a\n1,2.449\n2,938\n"))["a"] == [2.449, 938]


def test_only_columns_with_doubtful_points_are_parsed_again(monkeypatch):
    again, read = [], text_module._parse
    monkeypatch.setattr(text_module, "_parse", lambda *a: again.append(a[4:]) or read(*a))
    parse("id;a;b;c\nsub.1;1;0.5;NA\nsub.2;2;3.0;7\n")
    assert again == [()]
    parse("id;a;b;c\nsub.1;1;2.5;2.449\nsub.2;2;3.0001;7\n")
    assert again == [(), (), ([3],)]


ENTITIES = '<!DOCTYPE a [<!ENTITY b "c">]><atlas><label index="1">&b;</label></atlas>'


def test_elements_attributes_and_texts_are_read():
    root = xml_tree(b"<a><b index='1'>x<c/>y</b></a>", "file")
    assert [(b.attrib["index"], "".join(b.itertext())) for b in root.iter("b")] == [("1", "xy")]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (ENTITIES.encode(), "xml.entities"),
        (f"<?xml version='1.0' encoding='utf-16'?>{ENTITIES}".encode("utf-16"), "xml.entities"),
        (b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1), "xml.deep"),
        (b"<a><b></a>", "xml.damaged"),
        (b"<?xml version='1.0' encoding='none'?><a/>", "xml.damaged"),
    ],
)
def test_what_may_grow_or_is_no_xml_is_refused(content, code):
    with refused(code):
        xml_tree(content, "file")
