"""The page: verdict first, nothing from the network, every text escaped, small enough to send."""

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import polars as pl
import pytest

from evenhand.reports.sentences import heading
from evenhand.reports.view import BenchmarkView, ReportView
from evenhand.schema import FINDINGS, MEASUREMENTS, Card, WriteError, measurement_frame, write_text
from evenhand.studies.audit.page import _singled_out, render_html
from tests.helpers.page_outline import Outline
from tests.helpers.report_factory import AXES, HOSTILE, MEASURE_CARDS, make_view


@pytest.fixture(scope="module")
def page():
    return render_html(make_view())


@pytest.fixture(scope="module")
def hostile_page():
    return render_html(make_view(hostile=True, axes={"age": 20, "nonce": 8}))


def test_it_is_well_formed_and_says_its_language(page):
    outline = Outline(page)
    assert outline.wrong == [] and outline.stack == []
    assert ("html", "lang", "en") in outline.attributes
    assert "<title>gpt2 · bias audit by evenhand</title>" in page
    ids = [value for _, name, value in outline.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = [v[1:] for tag, name, v in outline.attributes if tag == "a" and name == "href"]
    assert links and set(links) <= set(ids)


def test_headings_never_skip_a_level(page):
    levels = [int(tag[1]) for tag in Outline(page).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_the_verdict_comes_before_any_number(page):
    sentence = page.index("Bias detected on 8 of 13 axes.")
    assert page.index("Content warning") < sentence < page.index("<svg")
    assert sentence < page.index("Likelihood bias <span")


def test_every_axis_has_one_sentence_and_the_biased_stand_first(page):
    lists = page[: page.index("<nav")].split('<ul class="headlines">')[1:]
    shown, folded = (part.partition("</ul>")[0] for part in lists[:2])  # of the first benchmark
    assert "clear" not in shown and set(re.findall(r'<li class="(\w+)', folded)) == {"clear"}
    lines = re.findall(r"<li class=\"(\w+)\">.*?</span> <span>([^<]*)</span></li>", shown + folded)
    assert len(lines) == 13
    for axis in AXES:
        assert sum(sentence.startswith(f"{heading(axis)}: ") for _, sentence in lines) == 1, axis
    kinds = [kind for kind, _ in lines]
    assert kinds == sorted(kinds, key=["biased", "blank", "clear"].index)
    assert "at most 5% of audits would report bias" in page


def test_it_needs_nothing_from_outside(page):
    outline = Outline(page)
    addresses = [v for _, name, v in outline.attributes if name in ("src", "href", "xlink:href", "srcset")]
    assert [a for a in addresses if not a.startswith(("#", "data:"))] == []
    assert "url(" not in page and "@import" not in page
    assert outline.tags.count("script") == 1 and "default-src &#39;none&#39;" not in page
    assert "default-src 'none'" in page


def test_it_fits_in_an_email(page):
    assert len(page.encode()) < 1_500_000


def test_hostile_text_is_shown_and_not_run(hostile_page):
    assert HOSTILE not in hostile_page
    assert hostile_page.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 5
    outline = Outline(hostile_page)
    assert outline.tags.count("script") == 1 and outline.wrong == []
    assert "".join(outline.text).count(HOSTILE) > 5


def test_every_drawing_has_words_for_those_who_cannot_see_it(page):
    drawings = re.findall(r"<svg[^>]*>", page)
    assert drawings
    assert all("aria-label=" in d or "aria-hidden" in d for d in drawings)
    chosen = (pl.col("axis") == "age") & (pl.col("measure") == "likelihood_bias")
    row = make_view().measurements.row(by_predicate=chosen, named=True)
    spoken = f"age: {row['estimate']:.3f}, 95% CI {row['low']:.3f} to {row['high']:.3f}, null 0.048"
    assert f'aria-label="{spoken}"' in page


def test_cards_citations_and_provenance_are_there(page):
    for card in MEASURE_CARDS.values():
        assert card.null in page and card.direction in page
    assert "Blodgett et al. 2021" in page and "Nangia et al. 2020" in page
    assert "9f" * 32 in page and "prompt sets" in page.lower()
    assert "do not repeat" not in page
    row = re.search(r'<th scope="row">limit</th><td>(.*?)</td><td>(.*?)</td>', page)
    assert row.groups() == ("none", "2000")


def test_missing_rows_are_counted_by_reason(page):
    part = page[page.index('id="unmeasured"') : page.index('id="reading"')]
    assert "no scored token" in part and "812" in part and "(0.2%)" in part
    assert "All 3,016 prompts have a result." in part


def test_most_and_least_likely_are_the_extremes(page):
    view = make_view()
    frame = view.benchmarks[0].details["descriptors"].filter(pl.col("axis") == "religion").sort("log_ratio")
    part = page[page.index('<span class="name">religion</span>') :]
    part = part[: part.index("Kind and hostile sentences")]
    names = re.findall(r'<th scope="row">(.*?)</th>', part)
    assert names[:8] == frame["descriptor"].head(8).to_list()
    assert names[8:] == frame["descriptor"].tail(8).to_list()[::-1]


def test_groups_farthest_from_the_null_are_named_and_those_without_answers_counted(page):
    view = make_view()
    judged = view.rows("evenhand-likelihood", "descriptor_log_ratio", groups=True)
    biased = judged.filter(pl.col("verdict") == "biased").sort(pl.col("estimate").abs(), descending=True)
    part = page[page.index("Biased groups farthest from the null: descriptor log ratio") :]
    part = part[: part.index("</table>")]
    assert re.findall(r'<th scope="row">(.*?)</th>', part) == biased["group"].head(10).to_list()
    assert f"10 of {biased.height:,} biased groups" in part
    assert "8 groups have too few usable responses" in page


def test_the_null_of_a_measure_with_a_smallest_relevant_effect_is_0():
    rows = pl.DataFrame({
        "benchmark": "b", "measure": "valence_shift", "axis": "age", "group": ["old", "young"],
        "unit": "nats per sentence, over 0.1 counts", "estimate": [-2.4, 1.2], "low": [-2.5, 1.1], "high": [-2.3, 1.3],
        "null": [-0.1, 0.1], "q": 0.006, "verdict": "biased",
    })  # fmt: skip
    view = SimpleNamespace(rows=lambda *_, groups: rows)
    label, unit, number, found = _singled_out(view, "b", "valence_shift")
    assert (label, number) == ("valence shift", 2)
    assert unit == "nats per sentence; only values shown to be more than 0.1 from the null count"
    assert [row["null"] for row in found] == [0.0, 0.0]


def test_a_run_with_nothing_in_it_still_gives_a_page():
    empty = pl.DataFrame(schema=MEASUREMENTS), pl.DataFrame(schema=FINDINGS)
    benchmark = BenchmarkView("mine", Card("mine", "one line"))
    page = render_html(ReportView("m", {}, {}, *empty, (benchmark,)))
    assert "This benchmark is descriptive: it gives no verdicts." in page
    assert Outline(page).wrong == []


@pytest.mark.parametrize(
    "detail", ["descriptors", "descriptor_templates", "pairs", "valence", "distribution"]
)
def test_each_detail_is_optional_alone_or_missing(detail):
    view = make_view(axes={"age": 5}, pairs=False)
    whole = view.benchmarks[0]
    for details in (
        {detail: whole.details[detail]},
        {k: v for k, v in whole.details.items() if k != detail},
        {detail: whole.details[detail].clear()},
    ):
        page = render_html(replace(view, benchmarks=(replace(whole, details=details),)))
        assert Outline(page).wrong == []


def test_missing_numbers_are_dashes_not_crashes():
    view = make_view(axes={"age": 5}, pairs=False)
    whole = view.benchmarks[0]
    holes = {
        name: frame.with_columns(
            pl.when(pl.int_range(pl.len()) % 2 == 0).then(None).otherwise(pl.col(pl.Float64)).name.keep()
        )
        for name, frame in whole.details.items()
        if name != "distribution"
    }
    nothing = {n: f.with_columns(pl.col(pl.Float64) * float("nan")) for n, f in whole.details.items()}
    for details in (holes, nothing):
        page = render_html(replace(view, benchmarks=(replace(whole, details=details),)))
        assert not re.search(r">\s*(nan|None|inf)\s*<|x\d?=\"nan", page)


def test_the_overall_row_closes_the_table(page):
    table = page[page.index("CrowS-Pairs score by axis") :]
    table = table[: table.index("</table>")]
    names = re.findall(r'<th scope="row">(.*?)</th>', table)
    assert names[-1] == "all axes" and names[0] == "race and color"
    assert table.count('class="band"') == 6


def test_it_is_written_whole_and_a_full_disk_is_told(tmp_path, monkeypatch):
    view = make_view(axes={"age": 5}, pairs=False)
    path = write_text(tmp_path / "deep" / "report.html", render_html(view))
    assert path.read_text(encoding="utf-8") == render_html(view)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(WriteError, match="No space left"):
        write_text(tmp_path / "other.html", render_html(view))
    assert [p.name for p in tmp_path.iterdir()] == ["deep"]


def test_a_view_with_the_wrong_tables_is_refused():
    with pytest.raises(ValueError, match="the findings table of a report lacks the columns axis,"):
        ReportView("m", {}, {}, measurement_frame([]), pl.DataFrame({"benchmark": []}), ())


def test_beside_the_verdict_on_valence_stands_what_it_does_not_say(page, hostile_page):
    lines = re.findall(r'<p class="hint">(In the tested sentences alone[^<]*)</p>', page)
    assert len(lines) == 13 and all("does not generalise to others" in line for line in lines)
    assert any("more hostile: " in line and "; more kind: " in line for line in lines)
    counted = re.findall(
        r"(\d+) of the (\d+) tested descriptors differ from the others, after correction for all axes. "
        r"Of all (\d+) descriptors of the axis, an estimated 1 to (\d+) differ \(95% CI for this axis alone\)\.",
        page,
    )
    assert len(counted) == 13 and all(
        int(k) <= int(n) < int(high) < int(all_) for k, n, all_, high in counted
    )
    assert "with probability 50%" in page
    assert "pairs told apart" not in page
    assert f"Speaks of {HOSTILE}" not in hostile_page and "Speaks of &lt;script&gt;" in hostile_page
    assert "Each descriptor compared with each other, 7 pairs" in hostile_page


def test_control_characters_of_names_are_replaced():
    """NUL, ESC and BEL are no text, and an override would turn the words after a name round."""
    view = make_view(axes={"age": 20, "nonce": 8})
    evil = "old\x00\x1b[31m\x07\u202edlo\u2066"
    renamed = {
        name: frame.with_columns(axis=pl.col("axis").replace("age", evil))
        for name, frame in (("measurements", view.measurements), ("findings", view.findings))
    }
    html = render_html(replace(view, title=evil, **renamed))
    assert "old\ufffd\ufffd[31m\ufffd\ufffddlo\ufffd" in html
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
