import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from tests.codes import refused

from sgbn.cohort.atlas import load_atlas
from sgbn.write.draw import surface
from sgbn.write.draw.style import DIVERGING
from sgbn.write.draw.surface import (
    NO_VALUE,
    OUTLINE,
    PIXELS,
    VIEWS,
    find_parcellation,
    look,
    parcel_numbers,
    plot_surface,
)

pytest.importorskip("nilearn", reason="the extra brain has the mesh")
pytest.importorskip("nibabel", reason="the extra brain reads the mesh")
ATLAS = "desikan_killiany"
NAMES = ["lh_precentral", "rh_precentral", "lh_precuneus", "Left-Hippocampus"]
VALUES = [1.0, -2.0, 0.0, 5.0]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(surface, "PIXELS", 200)


def drawn(values=VALUES, names=NAMES, **more):
    figure = Figure()
    return figure, plot_surface(figure, values, names, ATLAS, **more)


def colour_of(axes, name):
    """Mean colour of a region inside its border, where it faces the viewer."""
    atlas = load_atlas(ATLAS)
    parcels = find_parcellation(atlas)
    (number,) = parcel_numbers([name], atlas, parcels)
    found = []
    for ax, view in zip(axes, VIEWS, strict=True):
        picture = look(view, 200)
        regions = parcels.left if view.side == "left" else parcels.right
        own = (picture.vertex >= 0) & (regions[picture.vertex] == number)
        core = own.copy()
        for shift in (-2, -1, 1, 2):
            core &= np.roll(own, shift, 0) & np.roll(own, shift, 1)
        bright = core & (picture.light > 0.85) & (picture.depth <= 0)
        found.append(ax.images[0].get_array()[bright][:, :3] / 255)
    assert sum(map(len, found)) > 5
    return np.concatenate(found).mean(axis=0)


def test_colours_are_those_of_the_values_and_symmetric_about_zero():
    figure, axes = drawn()
    shades = colormaps[DIVERGING]
    for name, value in zip(NAMES[:3], VALUES[:3], strict=True):
        wanted = shades(0.5 + value / 4)[:3]  # the largest on the cortex is 2
        np.testing.assert_allclose(colour_of(axes, name), wanted, atol=0.06)
    assert figure.axes[-1].get_xlim() == (-2.0, 2.0)


def test_regions_without_a_value_are_grey():
    _, axes = drawn([np.nan, *VALUES[1:]])
    for name in ("lh_precentral", "lh_supramarginal"):
        np.testing.assert_allclose(colour_of(axes, name), to_rgb(NO_VALUE), atol=0.06)


def test_a_limit_sets_the_strongest_colour():
    figure, axes = drawn(limit=10)
    assert figure.axes[-1].get_xlim() == (-10.0, 10.0)
    shade = colormaps[DIVERGING](0.55)[:3]
    np.testing.assert_allclose(colour_of(axes, "lh_precentral"), shade, atol=0.06)


def test_sides_and_views_have_their_places():
    figure, axes = drawn()
    assert [ax.get_title() for ax in axes] == [view.title for view in VIEWS]
    assert len(figure.axes) == 5
    blue = [
        (ax.images[0].get_array()[..., 2] > 1.5 * ax.images[0].get_array()[..., 0]).sum()
        for ax in axes
    ]
    assert blue[1] > 100  # of the right precentral gyrus
    assert blue[0] == blue[2] == 0


def test_what_the_colours_mean_and_what_is_not_shown_is_said():
    figure, _ = drawn(label="g (SD), $5", title="Title $")
    assert figure.axes[-1].get_xlabel() == r"g (SD), \$5"
    assert figure.get_suptitle() == "Title \\$\n1 region not on this surface"
    figure, _ = drawn(VALUES[:3], NAMES[:3])
    assert figure.get_suptitle() == ""


def dark(axes):
    return [
        int((ax.images[0].get_array()[..., :3] == to_rgb(OUTLINE)).all(axis=-1).sum() - beside(ax))
        for ax in axes
    ]


def beside(ax):
    """Pixels beside the brain, which have no colour."""
    image = ax.images[0].get_array()
    return int(((image[..., 3] == 0) & (image[..., :3] == 0).all(axis=-1)).sum())


def test_marked_regions_have_an_outline():
    assert dark(drawn()[1]) == [0, 0, 0, 0]
    outlines = dark(drawn(marked=[False, True, False, True])[1])
    assert outlines[1] > 100
    assert outlines[0] == outlines[2] == 0


def test_spellings_and_order_of_names_do_not_matter():
    _, axes = drawn()
    other = ["Left-Hippocampus", "ctx-rh-precentral", "L_precuneus_thickavg", "lh.precentral"]
    _, again = drawn([5.0, -2.0, 0.0, 1.0], other)
    for one, two in zip(axes, again, strict=True):
        np.testing.assert_array_equal(one.images[0].get_array(), two.images[0].get_array())


def test_files_of_a_parcellation_take_the_place_of_the_known_one(tmp_path):
    import nibabel

    parcels = find_parcellation(load_atlas(ATLAS))
    paths = []
    for hemisphere, regions in (("lh", parcels.left), ("rh", parcels.right)):
        names = ["unknown", *(name.removeprefix(f"{hemisphere}_") for name in parcels.names)]
        colours = np.column_stack([np.arange(len(names))] * 3 + [np.zeros(len(names))] * 2)
        paths.append(tmp_path / f"{hemisphere}.own.annot")
        nibabel.freesurfer.write_annot(
            str(paths[-1]), regions + 1, colours.astype(int), names, fill_ctab=True
        )
    _, axes = drawn()
    _, again = drawn(parcellation=tuple(paths))
    for one, two in zip(axes, again, strict=True):
        np.testing.assert_array_equal(one.images[0].get_array(), two.images[0].get_array())


def test_a_view_has_enough_pixels_for_print():
    assert PIXELS >= 600


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"values": [1.0, 2.0], "names": ["lh_insula", "lh_insula_volume"]}, "surface.twice"),
        ({"values": [1.0, 2.0]}, "argument.shape"),
        ({"marked": [True]}, "argument.shape"),
        ({"atlas": "aal"}, "surface.unknown"),
    ],
)
def test_what_does_not_fit_the_surface_is_refused(given, code):
    with refused(code):
        plot_surface(Figure(), **{"values": VALUES, "names": NAMES, "atlas": ATLAS} | given)
