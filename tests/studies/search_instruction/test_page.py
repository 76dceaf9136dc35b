"""The page of a search: positions that mean what they say, text that is escaped, verdicts in words."""

import base64
import hashlib
import html
import io
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from evenhand.mitigations.prompting.instructions import FoundInstruction
from evenhand.mitigations.revision.choice import FINALISTS
from evenhand.mitigations.revision.searching import HISTORY, NONE
from evenhand.schema import Card
from evenhand.studies.search_instruction.page import history_svg
from evenhand.studies.search_instruction.result import Revision
from evenhand.studies.search_instruction.wording import cautions

WICKED = '<script>alert("x")</script> & be kind.'
FACTS = {
    "model": "puppet/<b>", "benchmark": "toxigen", "role": "toxicity", "classifier": "words", "reviser": "rules",
    "greedy": False, "instructions_tried": 9, "prompts_final": 100, "alpha": 0.05,
}  # fmt: skip


def history() -> pl.DataFrame:
    rows = [
        (0, NONE, None, "no instruction", 0.5, 0.0), (0, "seed", None, "kept", 0.5, 0.0),
        (1, NONE, None, "no instruction", 0.6, 0.0), (1, "seed", None, "not kept", 0.5, -0.1),
        (1, WICKED, "seed", "kept", 0.3, -0.3), (1, "seed!", "seed", "said before", None, None),
    ]  # fmt: skip
    told = [
        dict(zip(("iteration", "instruction", "parent", "fate", "rate", "change"), row, strict=True))
        | {"n": None if row[4] is None else 100}
        for row in rows
    ]
    return pl.DataFrame(told, schema=HISTORY)


def revision(verdict: str = "lower", folder: Path = Path("x"), **changes: object) -> Revision:
    reference = {"instruction": NONE, "chosen": False, "rate": 0.5, "low": 0.4, "high": 0.6, "n": 100}
    chosen = {
        "instruction": WICKED, "chosen": True, "verdict": verdict, "rate": 0.4, "change": -0.1, "n": 100,
        "change_low": -0.15, "change_high": -0.05, "p_adjusted": 0.004, "selected_change": -0.3, "optimism": -0.2,
        "silent": 0.0,
    } | changes  # fmt: skip
    finalists = pl.DataFrame([reference, chosen], schema=FINALISTS)
    return Revision(folder, history(), finalists, FoundInstruction(WICKED, Card("c", "d")), FACTS)


def test_the_drawing_is_to_scale() -> None:
    final = {"change": -0.2, "change_low": -0.25, "change_high": -0.15}
    drawing = str(history_svg(history(), final))
    dots = [
        (k, float(x), float(y))
        for k, x, y in re.findall(r'<circle class="(\w+)" cx="([\d.]+)%" cy="([\d.]+)"', drawing)
    ]
    assert sorted(kind for kind, *_ in dots) == ["dropped", "finaldot", "kept", "kept"]
    where = {(kind, round(x)): y for kind, x, y in dots}
    columns = sorted({x for _, x, _ in dots})
    assert len(columns) == 3 and columns[1] - columns[0] == pytest.approx(columns[2] - columns[1], abs=0.02)
    zero = where["kept", round(columns[0])]
    deepest, middle = where["kept", round(columns[1])], where["dropped", round(columns[1])]
    assert deepest - zero == pytest.approx(3 * (middle - zero), abs=0.2), "lower harm is further down"
    assert where["finaldot", round(columns[2])] - zero == pytest.approx(2 * (middle - zero), abs=0.2)
    (ends,) = re.findall(r'class="final" x1="[\d.]+%" y1="([\d.]+)" x2="[\d.]+%" y2="([\d.]+)"', drawing)
    assert abs(float(ends[0]) - float(ends[1])) == pytest.approx(middle - zero, abs=0.2)
    assert "0.0, −30.0" in drawing, "the best of each round is told to screen readers"


def test_the_page_says_what_was_found_and_escapes_what_others_wrote(tmp_path: Path) -> None:
    page = revision(folder=tmp_path).report().read_text(encoding="utf-8")
    assert page == revision(folder=tmp_path).html()
    assert page.count("<script") == 1 and 'alert("x")' not in page and "puppet/<b>" not in page
    assert "&lt;script&gt;alert" in page
    assert "fell by 10.0 points (5.0 to 15.0)" in page and "said before" in page
    assert re.findall(r"(?:src|href)=[^ >]*|@import|url\(", page) == ['href="data:,"', 'href="#glossary"'], (
        "nothing is loaded"
    )


def test_the_page_forbids_every_request_and_every_script_but_its_own() -> None:
    page = revision().html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(html.unescape(script).encode()).digest()).decode()
    allowed = dict(part.split(" ", 1) for part in html.unescape(policy).split("; "))
    assert allowed["default-src"] == "'none'" and allowed["script-src"] == f"'sha256-{digest}'"


def test_folded_sections_are_printed() -> None:
    page = revision().html()
    assert page.count("<details>") == 2
    assert "::details-content{content-visibility:visible" in page.replace(" ", "")
    assert "beforeprint" in page, "browsers that do not know the rule unfold them by the script"


def test_a_lone_surrogate_is_no_reason_to_lose_the_page(tmp_path: Path) -> None:
    found = revision(folder=tmp_path)
    facts = {**FACTS, "reviser": "half a \ud83d face"}
    page = replace(found, facts=facts).report().read_text(encoding="utf-8")
    assert "half a \ufffd face" in page


def test_what_was_not_shown_is_not_claimed() -> None:
    found = revision("not detected", change_high=0.02, minimum_detectable=0.12)
    page = found.html()
    assert "no change was detected" in page and "minimum detectable effect 12.0 points" in page
    assert "fell by" not in page
    assert any("not significantly lower" in text for text in cautions(found))
    assert not any("not significantly" in text for text in cautions(revision()))
    assert "rose by" in revision("higher", change=0.1, change_low=0.05, change_high=0.2).html()
    unmeasured = revision("not measurable", change=None, change_low=None, change_high=None, optimism=None)
    assert "could not be measured" in unmeasured.html()


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_terminal_holds_it_in_any_encoding(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    revision().render(Console(file=stream, width=100), {"report": Path("x/report.html")})
    stream.seek(0)
    told = stream.read()
    assert "(chosen)" in told and "report: x/report.html" in told and "10.0" in told
