"""The page: everything on it, no text of a crawl as markup or control code, nothing loaded, any count drawn."""

import re
from dataclasses import replace

import polars as pl
import pytest

from evenhand.corpus.counting import PUBLISHED_COUNTS
from evenhand.studies.frequencies import frequency_tables, render_html
from evenhand.studies.frequencies.sections import axis_sections, doubtful_terms, lean_rows, together_rows
from tests.studies.frequencies.small_corpora import small_view, without_hits


@pytest.fixture(scope="module")
def view():
    return small_view()


@pytest.fixture(scope="module")
def hostile():
    return render_html(small_view(hostile=True))


def test_sections_hold_what_was_planted(view) -> None:
    sections = {section.title: section for section in axis_sections(view)}
    ability = sections["ability"]
    assert ability.rows[0].name.lower() in ("blind", "deaf") and ability.never
    assert [term.name for term in doubtful_terms(view)] == ["white"]
    assert all("white" in hit for _, hit, *_ in doubtful_terms(view)[0].quotes)
    named = [row.name for row in lean_rows(view)[0]]
    assert named.index("blind") < named.index("elderly")
    assert together_rows(view) == [] or all(
        float(row[4]) > 0 for _, rows in together_rows(view) for row in rows
    )


def test_the_page_says_what_was_counted(view) -> None:
    page = render_html(view)
    assert "1,200 documents of 2 corpora" in page and "nothing is estimated" in page
    assert view.table.content_hash in page and "rarely of people" in page
    for anchor in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{anchor}"' in page


def test_a_sample_is_said_to_be_one() -> None:
    view = small_view()
    page = render_html(replace(view, tables=replace(view.tables, sampled=0.001)))
    assert "0.1 % of documents were drawn" in page and "nothing is estimated" not in page


def test_texts_of_crawls_are_no_markup(hostile: str) -> None:
    body = hostile.partition("<body>")[2].rpartition("<script>")[0]
    assert "<img" not in body and "<script" not in body and "<b>web" not in body
    assert "&lt;b&gt;web&lt;/b&gt;" in body and "onerror" in body
    assert not set(body) & {"\u202e", "\u202c", "\x1b"} and "\ufffd" in body


def test_the_page_loads_nothing(hostile: str) -> None:
    assert "default-src 'none'" in hostile
    assert not re.search(
        r"""(?:src|href)=["'](?!#|data:,)""", hostile.partition("<body>")[2].replace("src=x", "")
    )


def test_a_count_in_which_nothing_was_found_is_drawn(view) -> None:
    page = render_html(without_hits(view))
    assert "None of the terms was found" in page and "Pronouns were not among the terms" in page


def test_a_list_without_pronouns_is_drawn() -> None:
    page = render_html(small_view(lists=("descriptors",)))
    assert 'id="pronouns"' not in page and "often enough to be tested" in page


def test_what_the_papers_way_of_counting_changes_is_shown(view) -> None:
    term = view.table.terms.filter(name="blind")["term"][0]
    row = {
        "corpus": "web",
        "term": term,
        "documents": 90,
        "documents_here": 180,
        "only_published": 0,
        "only_here": 90,
    }
    counts = replace(view.counts, published=pl.DataFrame([row], schema=PUBLISHED_COUNTS))
    page = render_html(replace(view, counts=counts, tables=frequency_tables(counts, view.table, sampled=1.0)))
    assert 'id="published"' not in render_html(view)
    section = page.partition('id="published"')[2].partition("</section>")[0]
    assert "blind" in section and "10.0 %" in section and "20.0 %" in section
