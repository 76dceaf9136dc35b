"""The terminal: fits 80 columns, reads without colour, prints on any encoding, runs no control codes."""

import io
import re
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from evenhand.reports import label
from evenhand.schema import Card
from evenhand.studies.audit.terminal import render_audit, render_card, render_list, render_plan
from tests.helpers.report_factory import AXES, make_view


def printed(render, value, encoding="utf-8", **options):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    render(value, Console(file=stream, width=80, **options))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def text():
    return printed(render_audit, make_view())


def test_no_line_is_wider_than_the_terminal_and_rows_do_not_wrap(text):
    assert max(len(line) for line in text.splitlines() if not line.startswith(("report:", "run:"))) <= 80
    for axis in AXES:
        assert re.search(rf"^{label(axis)} +[\d–]", text, re.M), axis


def test_numbers_null_and_verdict_stand_in_one_row(text):
    chosen = (pl.col("axis") == "age") & (pl.col("measure") == "likelihood_bias")
    age = make_view().measurements.row(by_predicate=chosen, named=True)
    numbers = " ".join(f"{age[name]:.3f}" for name in ("estimate", "low", "high"))
    assert "95% CI; unbiased: 0.048)" in " ".join(text.split())
    assert re.search(rf"^age +{numbers} <0\.001 ▲ biased +[\d.]* *52k +[<\d]+", text, re.M)
    assert re.search(r"^nonce +– +– +– +– – not measurable +[\d.]* *40 +95%", text, re.M)
    assert re.search(r"^all axes +58\.9 +56\.4 +61\.3", text, re.M)


def test_the_summary_names_every_axis_of_each_verdict(text):
    flat = " ".join(text.split())
    assert "Bias detected on 8 of 13 axes. ▲ Ability: " in flat
    assert "○ Body type: " in flat
    assert "– Nonce: " in flat
    assert flat.index("▲ Ability") < flat.index("○ Body type") < flat.index("– Nonce")
    assert "at most 5% of audits would report bias" in flat


def test_the_worst_groups_are_the_largest_certain_effects(text):
    view = make_view()
    frame = view.benchmarks[0].details["descriptors"].filter(pl.col("q") <= view.alpha)
    worst = frame.sort(pl.col("log_ratio").abs(), descending=True).head(5)["descriptor"].to_list()
    block = text[text.index("Largest differences in likelihood") :].splitlines()[2:7]
    assert all(name in line for name, line in zip(worst, block, strict=True))


def test_uncertain_effects_are_not_listed():
    view = make_view(pairs=False)
    benchmark = view.benchmarks[0]
    details = {n: f.with_columns(q=pl.lit(0.5)) for n, f in benchmark.details.items() if "q" in f.columns}
    calm = replace(view, benchmarks=(replace(benchmark, details=details),))
    assert "Largest differences in likelihood" not in printed(render_audit, calm)


def test_piped_output_has_no_control_codes_and_a_terminal_has_colour(text):
    assert "\x1b" not in text
    assert "\x1b[" in printed(
        render_audit, make_view(pairs=False), force_terminal=True, color_system="standard"
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_other_encodings_get_plain_characters(encoding):
    plain = printed(render_audit, make_view(), encoding)
    assert re.search(r"^age .*! biased", plain, re.M) and "▲" not in plain
    assert max(len(line) for line in plain.splitlines() if not line.startswith(("report:", "run:"))) <= 80


def test_markup_and_escape_codes_in_texts_are_printed_not_obeyed():
    view = replace(make_view(axes={"age": 5}, pairs=False), title="[bold red]x[/] \x1b[31mred\x07 \u202eevil")
    text = printed(render_audit, view)
    assert "[bold red]x[/]" in text
    assert not set(text) & {"\x1b", "\x07", "\u202e"}


def test_paths_are_never_broken(text):
    path = "runs/" + "deep/" * 30 + "report.html"
    assert f"report: {path}" in printed(render_audit, replace(make_view(pairs=False), paths={"report": path}))


def test_plan_shows_cost_what_is_left_out_and_what_it_could_detect():
    plan = {
        "requests": 566_625,
        "distinct_requests": 563_195,
        "tokens": 5_100_000,
        "seconds": 3725.0,
        "disk_bytes": 38_000_000,
        "probe_errors": 0,
        "benchmarks": {"evenhand-likelihood": 566_625},
        "left_out": {"holisticbias-pll": "needs a masked model"},
        "minimum_detectable": {
            "evenhand-likelihood": pl.DataFrame(
                {"axis": ["age"], "n": [51_584], "minimum_detectable": [0.0312], "unit": ["nats per token"]}
            )
        },
    }
    text = printed(render_plan, plan)
    for expected in ("566,625", "563,195", "1 h 2 min", "38.0 MB", "needs a masked model", "nats per token"):
        assert expected in text
    assert re.search(r"age +51,584 +0\.031", text)
    assert "probe errors" not in text


def test_a_plan_names_each_unit_once_and_what_it_cannot_find_once():
    axes = ["age", "religion"]
    parts = [
        ("nats per sentence, a descriptor beside the others", [0.6931, 1.0986]),
        ("points between nouns", [None, None]),
    ]
    frame = pl.concat(
        pl.DataFrame({"axis": axes, "n": [40, 50], "minimum_detectable": found}).with_columns(
            unit=pl.lit(unit)
        )
        for unit, found in parts
    )
    text = printed(render_plan, {"minimum_detectable": {"b": frame}})
    assert text.count("nats per sentence") == text.count("points between nouns") == 1
    assert re.search(r"^age +40 +0\.693 +2\.00 *$", text, re.M) and text.count("religion") == 1
    assert "Too few prompts to detect any effect (points between nouns)." in text
    assert "The plan assumes typical rates and variances." in text


def test_card_shows_filled_fields_only():
    text = printed(render_card, Card("seat", "A measure.", critique="word " * 40))
    assert "critique" in text and "harm" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_list_aligns_names_and_wraps_summaries():
    text = printed(render_list, [("a", "short"), ("a-longer-name", "many words " * 12)])
    lines = text.splitlines()
    assert (
        lines[0].index("short")
        == lines[1].index("many")
        == lines[2].index("m" if "many" in lines[2][:20] else "w")
    )
    assert printed(render_list, []).strip() == ""


def test_tiny_points_do_not_give_a_column_eight_decimals():
    """Outcomes that hardly ever vary: a spread of a hundred-thousandth of a point is written as none."""
    view = make_view(pairs=False)
    tiny = {name: pl.lit(0.00003) for name in ("estimate", "low", "high")}
    measurements = view.measurements.with_columns(**tiny, unit=pl.lit("percentage points"))
    console = Console(width=80, file=io.StringIO())
    render_audit(replace(view, measurements=measurements), console)
    assert "0.0000" not in console.file.getvalue()


def test_generation_settings_of_the_model_that_were_not_used_are_named_once():
    told = {"generation": {"not_applied": {"repetition_penalty": 1.8, "top_k": 7}}}
    text = printed(render_audit, replace(make_view(), model=told))
    assert (
        " ".join(text.split()).count(
            "own generation settings repetition_penalty=1.8 and top_k=7 were not used"
        )
        == 1
    )


def test_factors_of_descriptors_say_which_way_and_that_they_are_no_verdict(text):
    plain = " ".join(text.split())
    assert "Largest differences in likelihood from other descriptors (ratio per token)" in plain
    assert re.search(r"\d\.\d\d times (less|more) +\d\.\d\d to \d", plain)
    assert "×" not in text.split("Largest differences in likelihood")[1].split("Descriptors with the most")[0]
    assert "descriptions, not verdicts" in plain
