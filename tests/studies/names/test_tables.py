"""What is said of rows, on whichever side of no difference they are, and numbers where the paper's tables have them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evenhand.studies.names.base_wording import base_sentences
from evenhand.studies.names.cells import judged_cells
from evenhand.studies.names.conduct import NamesStudy
from evenhand.studies.names.options import NamesConfig
from evenhand.studies.names.page import names_page, write_notes
from evenhand.studies.names.tables import effects_table, study_tables
from evenhand.studies.names.wording import sentences


def cell(row: str, measure: str, estimate: float, part: str = "", **more: Any) -> dict[str, Any]:
    told = {"decoding": "greedy", "benchmark": "names", "low": estimate - 1, "high": estimate + 1}
    return {"row": row, "measure": measure, "part": part, "estimate": estimate, **told, **more}


def study() -> NamesStudy:
    rows = [
        cell("original", "classifier_bias", 1.4, p=0.007),
        cell("original", "classifier_bias", 1.22, "speaker A"),
        cell("original", "occupation_lean", -6.0, p=0.0004),
        cell("original", "words", 20.0),
        cell(
            "after", "classifier_bias", 0.15, change=-1.25, change_p=0.001, change_low=-2.0, change_high=-0.5
        ),
        # farther from no difference, though the number is lower: it lies on the other side
        cell(
            "after", "occupation_lean", -9.0, change=-3.0, change_p=0.001, change_low=-5.0, change_high=-1.0
        ),
        cell("after", "words", 12.0, change=-8.0, change_p=0.001, change_low=-9.0, change_high=-7.0),
    ]
    published = pl.DataFrame({"hi_first": [5.9], "hi_second": [7.61], "l2": [0.098], "null_mean": [0.012]})
    words = pl.DataFrame(
        {"group": ["woman"] * 2, "rank": [1, 2], "word": ["<shop>", "danielle"], "n_names": [9, 1]}
    )
    details = {("original", "greedy", "names"): {"token_bins_published": published, "words": words}}
    config = NamesConfig(model="m", rows={"after": "x"})
    return NamesStudy(
        Path("study"), config, judged_cells(rows, 0.05), details, ("crows-pairs: not here",), (), {}
    )


def test_nearer_is_nearer_to_no_difference_from_either_side() -> None:
    first, *measures, (mark, told) = sentences(study())
    assert first[0] == "◆" and first[1].startswith(
        "original: replies to women's and men's names differ in 2 of 4 "
    )
    assert first[1].endswith("not that one gender is treated worse.")
    assert measures[0] == (
        "◆",
        "Gender inferred from a reply: difference detected. A classifier infers the gender of the name from a reply "
        "1.40 points more often than by chance (95% CI 0.40 to 2.40, q = 0.007).",
    )
    assert "the occupations mentioned is 6.0 points lower in conversations of women's names" in measures[1][1]
    assert len(measures) == 4 and all(found[0] in "◆○–" for found in measures)
    assert mark == "↑"
    nearer, farther, text = (
        told.index(words) for words in ("Less bias", "More bias", "Change in the text itself")
    )
    assert nearer < told.index("inferred gender −1.25 points (95% CI −2.00 to −0.50, q = 0.001)") < farther
    assert (
        farther
        < told.index("occupation difference −3.0 points")
        < text
        < told.index("words per reply −8.0 words")
    )


def test_a_change_that_is_not_detected_has_its_minimum_detectable_effect() -> None:
    made = study()
    quiet = {"change": 0.1, "change_p": 0.6, "change_low": -0.3, "change_high": 0.5}
    rows = [
        *made.cells.to_dicts(),
        cell("after", "token_bins", 0.1, change_minimum_detectable=0.62, **quiet),
        cell("after", "crows_pairs", 3.0, **quiet),
    ]
    told = list(sentences(replace(made, cells=judged_cells(rows, 0.05))))[-1][1]
    assert told.endswith("No change detected in word distance (MDE 0.620); CrowS-Pairs (MDE not available).")


@pytest.mark.parametrize(
    ("rates", "limits", "named", "expected"),
    [
        (
            (15.0, 4.0),
            (4.0, 18.0),
            "worse",
            "women's names are treated worse. Replies to women's names were offensive in 15.0% of cases, against 4.0% "
            "for men's names (difference 11.0 points, 95% CI 4.0 to 18.0, q = 0.004).",
        ),
        (
            (4.0, 15.0),
            (-18.0, -4.0),
            "better",
            "men's names are treated worse. Replies to men's names were offensive in 15.0% of cases, against 4.0% for "
            "women's names (difference 11.0 points, 95% CI 4.0 to 18.0, q = 0.004).",
        ),
        (
            (5.0, 4.0),
            (-2.0, 4.0),
            None,
            "no difference detected. Replies to women's names were offensive in 5.0% of cases, against 4.0% for men's "
            "names (difference 1.0 points, 95% CI −2.0 to 4.0, q = 0.500). This study had at least 80% power to detect "
            "7.4 points or more.",
        ),
    ],
)
def test_offensive_replies_show_which_gender_is_treated_worse(
    rates: tuple[float, float], limits: tuple[float, float], named: str | None, expected: str
) -> None:
    woman = {
        "axis": "gender",
        "group": "woman",
        "rate": rates[0],
        "background": rates[1],
        "difference": rates[0] - rates[1],
        "difference_low": limits[0],
        "difference_high": limits[1],
        "p": 0.004 if named else 0.5,
        "q": 0.008 if named else 1.0,
        "named": named,
        "minimum_detectable": 6.8,
        "n_units": 40,
        "obstacle": None,
    }
    told = [sentence for _, sentence in base_sentences("original", [], pl.DataFrame([woman]), 0.05)]
    assert f"Offensive replies: {expected}" in told


def test_numbers_stand_in_the_papers_tables() -> None:
    tables = {table.title.partition(":")[0]: table for table in study_tables(study(), "greedy")}
    assert tables["Table 6"].heads == (("measure", "left"), ("original", "right"), ("after", "right"))
    six = {name: value for name, value, _ in tables["Table 6"].rows}
    assert six["inferred gender, speaker A, points"] == "1.22"
    assert six["inferred gender, both speakers, points"] == "1.40"
    assert six["extra use of words typical of women's names, %"] == "5.90"
    assert six["extra use of words typical of men's names, %"] == "7.61"
    assert six["word distance, as published"] == "0.098"
    assert six["word distance, as published, by chance (genders of names permuted)"] == "0.012"
    assert tables["Table 5"].rows[0] == [
        "inferred gender, speaker A, points",
        "original",
        "1.22",
        "0.22 to 2.22",
    ]
    assert tables["Table 2"].rows == [["original", "woman", "<shop>, [danielle]"]]
    judged = effects_table(study(), "greedy", every=False)
    assert judged.rows[0][:4] == ["inferred gender, points", "after", "1.40", "0.15"]


def test_an_empty_table_states_what_would_fill_it() -> None:
    alone = replace(study(), config=NamesConfig(model="m"))
    alone = replace(alone, cells=alone.cells.filter(row="original"))
    page = names_page(alone)
    assert "Table 4: what first replies call the name, original" in page and "(a higher --limit)" in page
    assert "Table 6" in page and "resume the study with --row LABEL=FOLDER" in page
    assert "Table 9" in page and "`evenhand data fetch crows-pairs`" in page
    assert "--row LABEL=FOLDER" not in names_page(study())


def test_the_page_escapes_what_models_said() -> None:
    page = names_page(study())
    assert "&lt;shop&gt;" in page and "<shop>" not in page
    assert "Not measured: crows-pairs: not here." in page


def test_notes_tell_what_was_lost_not_judged_and_expected_by_chance() -> None:
    made = study()
    lost = {"change": 0.1, "change_n_missing": 12, "change_obstacle": "Too few."}
    further = [cell("after", "token_bins", 0.1, part, **lost) for part in ("", "speaker A")]
    rows = [*made.cells.to_dicts(), *further]
    notes = write_notes(replace(made, cells=judged_cells(rows, 0.05)))
    assert [note for note in notes if "expected to show" in note] == [
        "3 changes of 3 measures were tested, each measure separately: at most 0.15 measures are expected to show a "
        "change by chance if nothing changed."
    ]
    assert [note for note in notes if "Too few" in note] == [
        "Change not tested for after: word distance: Too few."
    ]
    assert [note for note in notes if "12 replies" in note] == [
        "after (greedy, names): 12 replies were not compared, because only this model, or only original, has them."
    ]


def base_lines(*ps: float) -> list[tuple[str, str]]:
    """Sentences on measures with these p, each with a 95% CI that excludes 0."""
    measures = ("classifier_bias", "token_bins", "occupation_lean")
    cells = [
        cell("original", measure, 1.5, p=p, minimum_detectable=3.0)
        for measure, p in zip(measures, ps, strict=False)
    ]
    return list(base_sentences("original", cells, None, 0.05))


def test_a_difference_is_detected_by_q_over_the_measures_of_the_sentence() -> None:
    # three chances of one in twenty: a CI that excludes 0 is not enough
    (mark, first), *lines = base_lines(0.03, 0.02, 0.04)
    assert mark == "○" and first.startswith("original: no difference between replies")
    assert "no difference detected" in lines[0][1] and "95% CI 0.50 to 2.50, q = 0.060" in lines[0][1]
    (mark, first), *lines = base_lines(0.03, 0.002, 0.04)
    assert mark == "◆" and "differ in 1 of 4 measures" in first
    assert lines[0][1].startswith("Words: difference detected.") and "q = 0.006" in lines[0][1]
    # one measure that could be tested is not corrected
    assert base_lines(0.03)[0][0] == "◆"


def test_an_effect_beyond_what_is_possible_is_no_power() -> None:
    small = cell("original", "classifier_bias", 1.5, p=0.4, minimum_detectable=156.3)
    (mark, first), *lines = base_sentences("original", [small], None, 0.05)
    told = dict((sentence.partition(":")[0], (verdict, sentence)) for verdict, sentence in lines)
    verdict, sentence = told["Gender inferred from a reply"]
    assert mark == "–" and verdict == "–" and "no difference detected" not in first
    assert (
        "No difference was detected, but with these few names no possible difference has 80% power"
        in sentence
    )
    assert "1.50 points more often than by chance (95% CI 0.50 to 2.50, q = 0.400)" in sentence


def test_a_measure_without_a_test_shows_what_was_observed() -> None:
    perfect = cell(
        "original", "classifier_bias", 50.0, p=None, low=None, high=None, obstacle="All names are alike."
    )
    sentence = next(
        text for _, text in base_sentences("original", [perfect], None, 0.05) if "inferred" in text
    )
    assert sentence.endswith(
        "not measurable. All names are alike. Observed, without a test: A classifier infers the gender of the name "
        "from a reply 50.00 points more often than by chance."
    )
