"""The page: everything on it, no text of a crawl as markup or control code, nothing loaded, any count drawn."""

import re
from dataclasses import replace

import polars as pl
import pytest

from evenhand.corpus.counting import PUBLISHED_COUNTS, PUBLISHED_GROUPS
from evenhand.studies.frequencies import frequency_tables, render_html
from evenhand.studies.frequencies.as_published import pronouns_both_ways
from evenhand.studies.frequencies.sections import axis_sections, doubtful_terms, lean_rows, together_rows
from tests.studies.frequencies.small_corpora import listed_twice, small_view, without_hits
from tests.studies.frequencies.test_terminal import printed


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
    assert "1,200 documents of 2 corpora" in page and "the shares are exact" in page
    assert view.table.content_hash in page and "rarely of people" in page
    for anchor in re.findall(r'href="#([\w-]+)"', page):
        assert f'id="{anchor}"' in page


def test_a_sample_is_said_to_be_one() -> None:
    view = small_view()
    page = render_html(replace(view, tables=replace(view.tables, sampled=0.001)))
    assert "A random 0.1 % of documents were counted" in page and "the shares are exact" not in page


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
    assert "None of the terms was found" in page and "No she-pronoun and no he-pronoun was found" in page


def test_a_list_without_pronouns_is_drawn() -> None:
    page = render_html(listed_twice())
    assert 'id="pronouns"' not in page and "often enough, and in enough documents, to be tested" in page


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
    group = {"kind": "pronoun", "axis": "pronouns", "only_published": 0, "only_here": 9}
    groups = [
        {"corpus": "web", "group": "she", "documents": 90, "documents_here": 99} | group,
        {"corpus": "web", "group": "he", "documents": 180, "documents_here": 297} | group,
    ]
    counts = replace(
        view.counts,
        published=pl.DataFrame([row], schema=PUBLISHED_COUNTS),
        published_groups=pl.DataFrame(groups, schema=PUBLISHED_GROUPS),
        options=replace(view.counts.options, published=True),
    )
    changed = replace(view, counts=counts, tables=frequency_tables(counts, view.table, sampled=1.0))
    page = render_html(changed)
    assert 'id="published"' not in render_html(view)
    assert pronouns_both_ways(changed) == [
        ("web", "as published", "10.0 %", "20.0 %", "0 %", "2.00"),
        ("web", "here", "11.0 %", "33.0 %", "0 %", "3.00"),
    ]
    text = " ".join(printed(changed).split())
    assert "as published 10.0 % 20.0 % 0 % 2.00" in text
    assert "Terms that differ most: blind (web) 10.0 %, here 20.0 %" in text
    section = page.partition('id="published"')[2].partition("</section>")[0]
    assert "blind" in section and "10.0 %" in section and "20.0 %" in section


def test_a_name_of_an_axis_is_shown_once() -> None:
    (axis,) = axis_sections(listed_twice())
    assert [(row.name, row.phrase) for row in axis.rows] == [
        ("Buddhist", False),
        ("Wiccan", False),
        ("nun", True),
    ]
    assert axis.summary == "4 terms of 2 lists, 1 never found" and axis.never == ("Jain",)
    assert "for all 3 " in axis.spread and "Noun phrases (1) are not" in axis.spread


def test_files_that_break_off_are_named() -> None:
    what = "/data/faiths.jsonl.gz: its gzip is damaged (<b>CRC</b> check failed)."
    page = render_html(listed_twice(damage=what))
    assert "Damaged files" in page and "&lt;b&gt;CRC&lt;/b&gt; check failed" in page
    assert "Damaged files" not in render_html(listed_twice())
