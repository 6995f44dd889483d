import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.text import parse_text


def parse(text, **options):
    return parse_text(text.encode(), "'t.csv'", lambda names: {"id"}, **options)


def test_commas_of_thousands_or_decimals_are_asked_for():
    text = "id;a;b\n1;1,250;7\n2;12,500;6\n"
    with pytest.raises(InputError, match=r"'1,250' may separate.*decimal=',' \(--decimal ,\)"):
        parse(text)
    assert parse(text, decimal=",").frame["a"].tolist() == [1.25, 12.5]
    assert parse(text, decimal=".").frame["a"].tolist() == ["1,250", "12,500"]


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
        parse(text)
    assert parse(text, decimal=".").frame["a"].tolist() == [2.449, 12.002, 938]
    assert parse(text.replace("938", "938.000")).frame["a"].tolist() == [2.449, 12.002, 938]


def test_points_are_asked_for_however_far_down_the_whole_number_is():
    rows = "".join(f"s{k};2.{k % 900 + 100};1.000\n" for k in range(9000))
    assert len(parse("id;a;b\n" + rows).frame) == 9000
    with pytest.raises(InputError, match=r"column 'b'.*'1\.000' may separate.* holds '5'"):
        parse("id;a;b\n" + rows + "x;2.100;5\n")


@pytest.mark.parametrize("number", ["1.234.567", "-12.345.678", "1.234.567,8"])
def test_two_points_in_a_number_separate_thousands(number):
    text = f"id;a;b\n1;2.449;{number}\n2;2.002;NA\n"
    with pytest.raises(InputError, match=rf"column 'b': the points in '{number}' .*without them"):
        parse(text)
    assert parse(text, decimal=".").frame["a"].tolist() == [2.449, 2.002]


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
    assert parse("id;a;b\n" + rows).facts["decimal"] == "."


def test_points_in_cells_that_commas_separate_are_no_question():
    assert parse("id,a\n1,2.449\n2,938\n").frame["a"].tolist() == [2.449, 938]
