import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.read.label_atlas import find_label_file, read_label_names

FSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<atlas version="1.0"><header><name>x</name><type>{kind}</type></header>
<data><label index="0" x="48" y="94" z="35">Frontal Pole</label>
<label index="1" x="25" y="70" z="32">G &amp; S frontomargin</label></data></atlas>"""

EXPECTED = {1: "Left-Hippocampus", 2: "G&S frontomargin", 17: "Pars, opercularis"}
FILES = {
    "dseg.tsv": "index\tname\tcolor\n1\tLeft-Hippocampus\t#fff\n2\tG&S frontomargin\t#000\n"
    "17\tPars, opercularis\t#123\n",
    "bom.csv": '\ufeffname,index\nLeft-Hippocampus,1\n"G&S frontomargin",2\n'
    '"Pars, opercularis",17\n',
    "plain.csv": '1,Left-Hippocampus\n2,G&S frontomargin\n17,"Pars, opercularis"\n',
    "cat12.csv": "ROIid;ROIabbr;ROIname\n1;lHip;Left-Hippocampus\n2;x;G&S frontomargin\n"
    "17;y;Pars, opercularis\n",
    "lut.txt": "#No. Label  R G B A\n\n1   Left-Hippocampus   220 20 10 0\n"
    "  2   G&S frontomargin  1 2 3 0\n17\tPars, opercularis 60 60 60 0\n",
    "words.txt": "1 Left-Hippocampus\n2 G&S frontomargin\n17 Pars, opercularis\n",
    "comments.txt": "# names\n1 Left-Hippocampus # seen\n2 G&S frontomargin\t# c\n"
    "17 Pars, opercularis #\n",
    "coloured.txt": "1 Left-Hippocampus 220 20 10 0 # 3\n2 G&S frontomargin 1 2 3 0\n"
    "17 Pars, opercularis 60 60 60 0\n",
    "header.txt": "Index Name\n1 Left-Hippocampus\n2 G&S frontomargin\n17 Pars, opercularis\n",
    "header_lut.txt": "index  name  R G B A\n1 Left-Hippocampus 1 2 3 0\n"
    "2 G&S frontomargin 1 2 3 0\n17 Pars, opercularis 1 2 3 0\n",
    "equals.txt": "1 = Left-Hippocampus\n2=G&S frontomargin\n17 =Pars, opercularis\n",
    "equals2.txt": "17=Pars, opercularis\n1=Left-Hippocampus\n2=G&S frontomargin\n",
    "colons.txt": "1: Left-Hippocampus\n2: G&S frontomargin\n17: Pars, opercularis\n",
    "aal.txt": "1 Left-Hippocampus 2001\n2 G&S frontomargin 2002\n17 Pars, opercularis 2101\n",
    "snap.txt": '1 255 0 0 1 1 1 "Left-Hippocampus"\n2 0 255 0 1 1 1 "G&S frontomargin"\n'
    '17 0 0 1 1 1 1 "Pars, opercularis"\n',
}


@pytest.mark.parametrize("name", FILES)
def test_each_kind_of_file_is_read_with_names_as_written(tmp_path, name):
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    assert read_label_names(tmp_path / name) == EXPECTED


def test_fsl_numbers_the_maps_of_a_probabilistic_atlas_from_0(tmp_path):
    path = tmp_path / "atlas.xml"
    path.write_text(FSL.format(kind="Probabalistic"))  # spelt like this by FSL
    assert read_label_names(path) == {1: "Frontal Pole", 2: "G & S frontomargin"}
    path.write_text(FSL.format(kind="Label"))
    assert read_label_names(path) == {0: "Frontal Pole", 1: "G & S frontomargin"}


def test_numbers_that_belong_to_a_name_are_kept(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("1 Lobule 1\n2 Lobule 2\n")
    assert read_label_names(path) == {1: "Lobule 1", 2: "Lobule 2"}
    path.write_text("1 Lobule 1 255 0 0 0\n2 Lobule 2 0 255 0 0\n")
    assert read_label_names(path) == {1: "Lobule 1", 2: "Lobule 2"}


def test_a_mark_within_a_name_or_a_cell_is_no_comment(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text('1 Area #1\n2 Area #2\n3 "Area # 3"\n')
    assert read_label_names(path) == {1: "Area #1", 2: "Area #2", 3: "Area # 3"}


def test_latin_letters_are_read(tmp_path):
    (tmp_path / "names.csv").write_bytes("1,Région\n".encode("latin-1"))
    assert read_label_names(tmp_path / "names.csv") == {1: "Région"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,x\n", "has the columns a, b. Call the column"),
        ("1,x\n,y\n", "no index and name in the line"),
        ("1\n", "no index and name"),
        ("1 =\n", "no index and name"),
        ("A 1\nB 2\n", "Begin each line with the label and"),
        ("Index R Name\n1 255 A\n", "no index and name in the line 'Index R Name'"),
        ("Index Name\n", "has only a header"),
        ("1,x\n1,y\n", "two names for label 1: 'x' and 'y'"),
        ("index,name\n1,\n", "no name for label 1"),
        ("<atlas><label>", "not XML"),
        ('<atlas><label index="a">x</label></atlas>', "cannot be read as FSL's XML"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, message):
    (tmp_path / "names.csv").write_text(content)
    with pytest.raises(InputError, match=r"names\.csv") as caught:
        read_label_names(tmp_path / "names.csv")
    assert message in str(caught.value)
    with pytest.raises(InputError, match=r"gone\.csv cannot be read"):
        read_label_names(tmp_path / "gone.csv")


@given(st.binary(max_size=60) | st.text('0123456789,;\t\n"<> abé.#-', max_size=60))
@settings(max_examples=settings.default.max_examples // 10)
def test_whatever_a_file_holds_it_is_read_or_named(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    names, message = {}, "fuzz.csv"
    try:
        names = read_label_names(path)
    except InputError as error:
        message = str(error)
    assert "fuzz.csv" in message
    assert all(isinstance(value, int) and name for value, name in names.items())


def test_the_file_beside_the_image_is_found(tmp_path):
    image = tmp_path / "atlas_dseg.nii.gz"
    assert find_label_file(image) is None
    (tmp_path / "atlas_dseg.nii.gz.txt").touch()
    assert find_label_file(image).name == "atlas_dseg.nii.gz.txt"
    (tmp_path / "atlas_dseg.tsv").touch()
    assert find_label_file(image).name == "atlas_dseg.tsv"
