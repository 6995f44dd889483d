import re
import warnings
import zlib
from xml.etree import ElementTree

import numpy as np
from matplotlib.figure import Figure

from sgbn.comparison.figures import plans
from sgbn.write import figures
from sgbn.write.figures import PAGE_DPI, TYPESETTING, lay_out_once, picture, rounded


def test_rounding_touches_paths_only_and_by_less_than_a_tenth():
    svg = b'<g transform="scale(0.015625)"><path d="M 1.2345 2.06\nL 3 4.99 "/></g>'
    assert rounded(svg) == b'<g transform="scale(0.015625)"><path d="M 1.2 2.0 L 3 4.9 "/></g>'


def test_the_picture_of_the_page_is_smaller_and_whole(compared):
    svg = plans(compared)["differences_brain"].files(["svg"], PAGE_DPI)["svg"]
    assert len(rounded(svg)) < len(svg)
    ElementTree.fromstring(rounded(svg))


def test_letters_that_the_font_lacks_give_no_warning():
    for kind in ("svg", "png"):
        figure = Figure(layout="constrained")
        figure.add_subplot().set_title("海马")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert picture(figure, kind)


def test_letters_of_a_pdf_can_be_read_and_its_fonts_have_no_tables_of_typesetting(compared):
    pdf = plans(compared)["permutations"].files(["pdf"], dpi=100)["pdf"]
    assert b"/FontFile2" in pdf  # TrueType, which can be edited
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.S)
    fonts = [zlib.decompress(one) for one in streams if one[:1] == b"\x78"]
    fonts = [one for one in fonts if one[:4] == b"\x00\x01\x00\x00"]
    assert fonts
    for font in fonts:
        assert b"glyf" in font[:400]
        assert not any(table.encode() in font[:400] for table in TYPESETTING)


def test_the_part_that_is_kept_is_the_one_that_matplotlib_would_keep():
    figure = Figure((6, 4), layout="constrained")
    figure.add_subplot().set(xlabel="across", ylabel="up", title="A title")
    part = lay_out_once(figure)
    assert figure.get_layout_engine() is None
    inches = [np.array(size(picture(figure, "svg", part=one))) for one in (part, None)]
    assert np.abs(inches[0] - inches[1]).max() < 2.0  # points: versions of matplotlib differ


def size(svg):
    root = ElementTree.fromstring(svg)
    return [float(root.get(name).removesuffix("pt")) for name in ("width", "height")]


def test_a_pdf_is_written_where_font_tools_have_no_such_list(monkeypatch):
    monkeypatch.setattr(figures, "DROPPED", "_called_otherwise")
    figure = Figure()
    figure.text(0.5, 0.5, "letters")
    assert picture(figure, "pdf").startswith(b"%PDF")
