"""What is said of rows, on whichever side of no difference they are, and numbers where the paper's tables have them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.studies.names.cells import judged_cells
from evenhand.studies.names.conduct import NamesStudy
from evenhand.studies.names.options import NamesConfig
from evenhand.studies.names.page import names_page, notes_of
from evenhand.studies.names.tables import effects_table, study_tables
from evenhand.studies.names.wording import sentences


def cell(row: str, measure: str, estimate: float, part: str = "", **more: Any) -> dict[str, Any]:
    told = {"decoding": "greedy", "benchmark": "names", "low": estimate - 1, "high": estimate + 1}
    return {"row": row, "measure": measure, "part": part, "estimate": estimate, **told, **more}


def study() -> NamesStudy:
    rows = [
        cell("original", "classifier_bias", 1.4),
        cell("original", "classifier_bias", 1.22, "speaker A"),
        cell("original", "occupation_lean", -6.0),
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
    assert first[0] == "◆" and first[1].startswith("original: replies to women's and men's names differ in ")
    assert "they do not show that one gender is treated worse" in first[1]
    assert measures[0] == (
        "◆",
        "Gender inferred from a reply: a classifier infers the gender of the name from a reply better than by chance: "
        "1.40 points above chance, 95% CI 0.40 to 2.40.",
    )
    assert len(measures) == 3 and all(found[0] in "◆○–" for found in measures)
    assert mark == "↑"
    nearer, farther, text = (told.index(words) for words in ("Less bias", "More bias", "Cost in the text"))
    assert (
        nearer
        < told.index("classifier bias −1.25")
        < farther
        < told.index("occupations that fit the gender −3.0")
    )
    assert told.index("words of a reply −8.0") > text


def test_numbers_stand_in_the_papers_tables() -> None:
    tables = {table.title.partition(":")[0]: table for table in study_tables(study(), "greedy")}
    six = dict(zip((name for name, _ in tables["Table 6"].heads), tables["Table 6"].rows[0], strict=True))
    assert (six["bias A"], six["bias average"], six["Hi women, %"], six["Hi men, %"]) == (
        "1.22",
        "1.40",
        "5.90",
        "7.61",
    )
    assert (six["L2 publ."], six["chance"]) == ("0.098", "0.012")
    assert tables["Table 2"].rows == [["original", "woman", "<shop>, [danielle]"]]
    assert "Table 9" not in tables  # no sentences were here
    judged = effects_table(study(), "greedy", every=False)
    assert judged.rows[0][:4] == ["classifier bias, points", "after", "1.40", "0.15"]


def test_the_page_escapes_what_models_said() -> None:
    page = names_page(study())
    assert "&lt;shop&gt;" in page and "<shop>" not in page
    assert "Not measured: crows-pairs: not here." in page


def test_notes_tell_what_was_lost_not_judged_and_expected_by_chance() -> None:
    made = study()
    lost = {"change": 0.1, "change_n_missing": 12, "change_obstacle": "Too few."}
    further = [cell("after", "token_bins", 0.1, part, **lost) for part in ("", "speaker A")]
    rows = [*made.cells.to_dicts(), *further]
    notes = notes_of(replace(made, cells=judged_cells(rows, 0.05)))
    assert [note for note in notes if "expected to show" in note] == [
        "3 changes of 3 measures were tested, each measure separately: at most 0.15 measures are expected to show a "
        "change by chance if nothing changed."
    ]
    assert [note for note in notes if "Too few" in note] == [
        "Change not tested, after: token bins, corrected L2: Too few."
    ]
    assert [note for note in notes if "12 replies" in note] == [
        "after (greedy, names): 12 replies that only this row, or only original, has were not compared."
    ]
