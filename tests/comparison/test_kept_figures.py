import re
import warnings
import zlib
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.comparison.figures import plans
from sgbn.write import draw, figures
from sgbn.write.figures import (
    KINDS,
    PAGE_DPI,
    TYPESETTING,
    WORTH_WORKERS,
    Plan,
    draw_figures,
    forget_others,
    lay_out_once,
    picture,
    rounded,
)


def histogram(values):
    plot = partial(draw.plot_permutations, null=np.array(values), observed={"data": 2.0})
    return Plan(plot, (3.0, 2.0))


@pytest.fixture
def drawn(monkeypatch):
    """Plans that were drawn, each as files of its own."""
    plans = []

    def files(plan, kinds, dpi):
        plans.append(plan)
        content = plan.plot.keywords["null"].tobytes()
        return {kind: kind.encode() + content for kind in kinds}

    monkeypatch.setattr(Plan, "files", files)
    return plans


def test_a_figure_that_is_kept_is_not_drawn_again(drawn, tmp_path):
    first = draw_figures({"a": histogram([1.0, 3.0])}, 1, tmp_path)
    assert len(drawn) == 1
    again = draw_figures({"b": histogram([1.0, 3.0])}, 1, tmp_path)  # by another name
    assert len(drawn) == 1
    assert again["b"] == first["a"]
    assert set(first["a"]) == set(KINDS)
    both = draw_figures({"a": histogram([1.0, 3.0]), "b": histogram([1.0, 4.0])}, 1, tmp_path)
    assert len(drawn) == 2
    assert both["a"] != both["b"]


def test_a_damaged_figure_is_drawn_again(drawn, tmp_path):
    whole = draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    (path,) = (tmp_path / "tasks").glob("*.npz")
    content = bytearray(path.read_bytes())
    place = content.index(b"pdf", content.index(b"pdf.npy") + 8)
    content[place] ^= 1  # one bit of the picture
    for spoilt in (bytes(content), b"", path.read_bytes()[:-40]):
        path.write_bytes(spoilt)
        drawn.clear()
        assert draw_figures({"a": histogram([1.0])}, 1, tmp_path) == whole
        assert len(drawn) == 1


def test_other_code_draws_again(drawn, tmp_path, monkeypatch):
    draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    monkeypatch.setattr(figures, "_code", lambda: "other")
    draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    assert len(drawn) == 2
    forget_others({"a": histogram([1.0])}, tmp_path)
    assert len(list((tmp_path / "tasks").glob("*.npz"))) == 1


def test_a_few_figures_are_drawn_without_workers(drawn, monkeypatch):
    asked = []
    real = figures.Study
    monkeypatch.setattr(figures, "Study", lambda folder, n_jobs: asked.append(n_jobs) or real())
    for count in (WORTH_WORKERS - 1, WORTH_WORKERS):
        draw_figures({str(k): histogram([float(k)]) for k in range(count)}, 2)
    assert asked == [1, 2]
    assert len(drawn) == 2 * WORTH_WORKERS - 1


def test_the_same_files_with_and_without_a_folder(tmp_path):
    plans = {"a": histogram([1.0, 2.0, 2.5])}
    assert draw_figures(plans, 1) == draw_figures(plans, 1, tmp_path)
    kept = draw_figures(plans, 1, tmp_path)["a"]
    assert kept["png"].startswith(b"\x89PNG")
    assert kept["pdf"].startswith(b"%PDF")


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
