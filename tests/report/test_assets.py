import pytest

from sgbn.core.exceptions import InputError
from sgbn.write import page


def test_the_libraries_are_read_from_their_wheels():
    assert len(page.plotly_script()) > 4_000_000
    assert "window.DataTable=" in page.tables_script()
    assert "dt-container" in page.tables_style()


@pytest.mark.parametrize("read", [page.plotly_script, page.tables_script])
def test_no_library_can_end_or_nest_its_script_element(read):
    text = read().lower()
    assert "</script" not in text
    assert "<!--" not in text


def test_a_module_becomes_a_classic_script():
    script = page.as_classic_script("var a=1,b=2;export{a as default,b as other};\n// end")
    assert "export" not in script
    assert ";window.DataTable=a;" in script
    assert script.startswith("(function(){")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("var a=1;", "0 export statements"),
        ("var a=1;export{a as default};export{a as b};", "2 export statements"),
        ("var a=1;export{a as other};", "no default export"),
        ('import b from "b";var a=1;export{a as default};', "imports other files"),
        ("var a=import.meta.url;export{a as default};", "imports other files"),
    ],
)
def test_a_bundle_of_another_shape_is_refused_by_name(module, message):
    with pytest.raises(InputError, match=message) as error:
        page.as_classic_script(module)
    assert "itables" in str(error.value)
    assert "pip install" in str(error.value)


def test_a_missing_file_says_which_and_what_to_do():
    with pytest.raises(InputError, match=r"nowhere\.js cannot be read.*pip install"):
        page._read("plotly", "nowhere.js")
    with pytest.raises(InputError, match="no_such_package"):
        page._read("no_such_package", "a.js")


def test_a_package_that_does_not_import_is_still_read(tmp_path, monkeypatch):
    # itables 2.5.0 needs a package that it does not install
    package = tmp_path / "broken_package"
    (package / "html").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError('platformdirs')")
    (package / "html" / "a.js").write_text("var a;")
    monkeypatch.syspath_prepend(tmp_path)
    assert page._read("broken_package", "html", "a.js") == "var a;"


def test_texts_that_would_end_the_element_are_written_otherwise():
    assert page.safe_script('"</script>"') == r'"\x3C/script>"'
    assert page.safe_script("a<b") == "a<b"
