"""The page in a real browser: silent, offline, never scrolling sideways, also where texts of others attack it."""

import json
from pathlib import Path

import polars as pl
import pytest

from evenhand.annotation import analyse
from evenhand.annotation.simulating import simulated_votes
from tests.annotation.analysis.written_exports import SCALE, STUDY, rated, renamed, with_survey, written

PAYLOAD = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>"

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_of_everything(tmp_path_factory) -> Path:
    """Pairs of three models with hostile names, ratings, classifiers, a survey, levels, reasons: every section."""
    votes = simulated_votes(
        {"base": 0.0, "a model with quite a long name, tuned": 0.8, "new": 0.2},
        persons=60,
        items_per_person=6,
        votes_per_item=2,
        onboarding=2,
        seed=3,
    )
    votes = renamed(votes, {"new": f"new{PAYLOAD}"}, ["model_a", "model_b"]).with_columns(
        reason=pl.lit(PAYLOAD), groups=pl.lit(json.dumps({"axis": PAYLOAD}))
    )
    ratings = rated(persons=40, classifiers={PAYLOAD: 0.8}, seed=2).with_columns(
        person="r" + pl.col("person"), presentation="r" + pl.col("presentation")
    )
    study = {**STUDY, "title": PAYLOAD, "survey": [SCALE]}
    folder = tmp_path_factory.mktemp("people")
    file = written(folder / "votes.jsonl", with_survey(pl.concat([votes, ratings])), study)
    return analyse(file, by="groups.axis").report()


@pytest.mark.parametrize("width", [400, 768, 1280])
def test_it_is_silent_offline_and_never_scrolls_sideways(chromium, page_of_everything, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    heard, asked = [], []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(page_of_everything.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert heard == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("main section").count() >= 9
    assert page.locator("main img, main script").count() == 0
    links = page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href').slice(1))")
    assert all(page.locator(f"#{link}").count() == 1 for link in links)
    page.close()


def test_print_unfolds_numbers_and_leaves_texts_folded(chromium, page_of_everything):
    page = chromium.new_page(viewport={"width": 720, "height": 900})
    page.goto(page_of_everything.as_uri())
    page.emulate_media(media="print")
    assert page.locator("details.fold:not(.long) table").first.is_visible()
    assert not page.locator("details.long blockquote").first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_reasons_why_nothing_can_be_said_wrap_and_rules_are_not_cut(chromium, tmp_path, width):
    names = {"evenhand/conversing-planted": 0.0, "evenhand/a_model-with-quite-a-long-name": 0.5}
    votes = simulated_votes(names, persons=8, items_per_person=4, onboarding=1, seed=1)
    few = rated(persons=3, items_per_person=4, seed=1).with_columns(
        person="r" + pl.col("person"), presentation="r" + pl.col("presentation")
    )
    file = written(tmp_path / "votes.jsonl", pl.concat([votes, few]), STUDY)
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto(analyse(file, by="groups.group").report().as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert "There are only 3 persons" in page.inner_text("body")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width > 1000:  # no table is cut where there is room
        cut = "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth).length"
        assert page.evaluate(cut) == 0
    page.close()
