import pytest

from sgbn.core.problems import InputError
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


def decimal_marks_parse(text, **options):
    return parse_text(text.encode(), "'t.csv'", lambda names: {"id"}, **options)


def test_commas_of_thousands_or_decimals_are_asked_for():
    text = "id;a;b\n1;1,250;7\n2;12,500;6\n"
    with pytest.raises(InputError, match=r"'1,250' may separate.*decimal=',' \(--decimal ,\)"):
        decimal_marks_parse(text)
    assert decimal_marks_parse(text, decimal=",").frame["a"].tolist() == [1.25, 12.5]
    assert decimal_marks_parse(text, decimal=".").frame["a"].tolist() == ["1,250", "12,500"]


@pytest.mark.parametrize("mark", [";", "\t", "|", " "])
@pytest.mark.parametrize("quote", ["", '"'])
def test_points_of_thousands_or_decimals_are_asked_for(mark, quote):
    rows = [["id", "a", "b"], ["1", "2.449", "3"], ["2", "12.002", "4"], ["3", "938", "-7"]]
    text = "".join(mark.join(quote + cell + quote for cell in row) + "\n" for row in rows)
    message = (
        r"^'t\.csv', column 'a': the point in numbers such as '2\.449' may .* also holds '938'\. .*"
        r"decimal='\.' \(--decimal \.\), or write 938\.000\. If it separates thousands, write"
    )
    with pytest.raises(InputError, match=message):
        decimal_marks_parse(text)
    assert decimal_marks_parse(text, decimal=".").frame["a"].tolist() == [2.449, 12.002, 938]
    assert decimal_marks_parse(text.replace("938", "938.000")).frame["a"].tolist() == [
        2.449,
        12.002,
        938,
    ]


def test_points_are_asked_for_however_far_down_the_whole_number_is():
    rows = "".join(f"s{k};2.{k % 900 + 100};1.000\n" for k in range(9000))
    assert len(decimal_marks_parse("id;a;b\n" + rows).frame) == 9000
    with pytest.raises(InputError, match=r"column 'b'.*'1\.000' may separate.* holds '5'"):
        decimal_marks_parse("id;a;b\n" + rows + "x;2.100;5\n")


@pytest.mark.parametrize("number", ["1.234.567", "-12.345.678", "1.234.567,8"])
def test_two_points_in_a_number_separate_thousands(number):
    text = f"id;a;b\n1;2.449;{number}\n2;2.002;NA\n"
    with pytest.raises(InputError, match=rf"column 'b': the points in '{number}' .*without them"):
        decimal_marks_parse(text)
    assert decimal_marks_parse(text, decimal=".").frame["a"].tolist() == [2.449, 2.002]


@pytest.mark.parametrize(
    "rows",
    [
        "1;2.449;65\n2;2.002;70\n",  # thickness as FreeSurfer writes it, beside an age
        "1;2.449;0\n2;0;1\n",  # 0 is the same number in both readings
        "1;2.449;0.938\n2;938;2.125\n",  # a number cannot begin with a group of zero
        "1;2.449;71.5\n2;938;70.5\n",
        "1;2.449;7\n2;938.1234;7\n",
        "1;2.449;7\n2;1234.567;7\n2;938;7\n",
        "1;2.449;7\n2;NA;7\nx 938;.;7\n",
        "1.449;2;7\n2.002;938;7\n",  # the points are in another column than the whole numbers
        "1;2.449e3;7\n2;938;7\n",
        "1;01.02.2020;7\n2;12.11.2021;8\n",
    ],
)
def test_points_that_separate_decimals_are_no_question(rows):
    assert decimal_marks_parse("id;a;b\n" + rows).facts["decimal"] == "."


def test_points_in_cells_that_commas_separate_are_no_question():
    assert decimal_marks_parse("id,a\n1,2.449\n2,938\n").frame["a"].tolist() == [2.449, 938]


ENTITIES = '<!DOCTYPE a [<!ENTITY b "c">]><atlas><label index="1">&b;</label></atlas>'


def test_elements_attributes_and_texts_are_read():
    root = xml_tree(b"<a><b index='1'>x<c/>y</b></a>", "file", "Mend it.")
    assert [(b.attrib["index"], "".join(b.itertext())) for b in root.iter("b")] == [("1", "xy")]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ENTITIES.encode(), "entities"),
        (f"<?xml version='1.0' encoding='utf-16'?>{ENTITIES}".encode("utf-16"), "entities"),
        (b"<a>" * (MAX_DEPTH + 1) + b"</a>" * (MAX_DEPTH + 1), "more than 20 levels"),
        (b"<a><b></a>", "not XML"),
        (b"<?xml version='1.0' encoding='none'?><a/>", "not XML"),
    ],
)
def test_what_may_grow_or_is_no_xml_is_refused_with_the_remedy(content, reason):
    with pytest.raises(InputError, match=rf"^file .*{reason}.* Mend it\.$"):
        xml_tree(content, "file", "Mend it.")
