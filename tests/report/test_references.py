import re

from sgbn.comparison.methods import REFERENCES, software


def test_every_reference_has_what_a_list_and_bibtex_need():
    for key, work in REFERENCES.items():
        assert work.key == key
        assert str(work.year) in work.text
        assert work.title in work.text
        assert work.bibtex.count("{") == work.bibtex.count("}")
        assert work.bibtex.startswith(f"@{work.kind}{{{key},")
        assert not work.doi or re.fullmatch(r"10\.\d{4,}/\S+", work.doi)


def test_the_paper_is_that_of_the_citation_file():
    work = REFERENCES["zhou2016"]
    assert work.doi == "10.1109/TPAMI.2015.2511754"
    assert work.text.startswith("Zhou L, Wang L, Liu L, Ogunbona P, Shen D (2016).")


def test_more_authors_are_et_al_in_text_and_others_in_bibtex():
    assert "et al." in REFERENCES["fortin2018"].text
    assert "and others" in REFERENCES["fortin2018"].bibtex


def test_the_program_is_cited_with_its_version():
    assert "Version 1.2.3" in software("1.2.3").text
    assert "year" not in software("1.2.3").bibtex
