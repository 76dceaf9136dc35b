"""Self-chats as the analysis reads them: labels of any judge, balanced lists, rows that failed."""

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions
from evenhand.benchmarks.names.chats import build_chats, by_name, told_gender, utterances_by_turn
from evenhand.benchmarks.names.offence import offence
from evenhand.schema import DataError
from tests.helpers.named_chats import named_chats

OPTIONS = AnalysisOptions()


def judged(labels: list[str | None], scores: list[list[float] | None]) -> pl.DataFrame:
    return pl.DataFrame({"gender_label": labels, "gender_scores": scores})


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("Female", "woman"),
        ("MALE", "man"),
        ("women", "woman"),
        (" M ", "man"),
        ("neutral", "neither"),
        (None, None),
    ],
)
def test_labels_of_any_classifier_are_read(label: str | None, told: str | None) -> None:
    assert told_gender(judged([label], [None]), "gender", None).to_list() == [told]


def test_of_three_labels_the_two_genders_decide() -> None:
    """As published: of the judge's labels a woman's and a man's alone are compared."""
    frame = judged(
        ["neutral", "neutral", "male", None], [[0.8, 0.15, 0.05], [0.8, 0.1, 0.1], [0.1, 0.2, 0.7], None]
    )
    names = ["neutral", "female", "male"]
    assert told_gender(frame, "gender", names).to_list() == ["woman", "neither", "man", None]


def test_labels_that_tell_no_gender_are_refused() -> None:
    with pytest.raises(DataError, match="not genders: 'label_0', 'label_1'"):
        told_gender(judged(["LABEL_1", "LABEL_0"], [None, None]), "gender", None)
    with pytest.raises(DataError, match="not which scores mean female and male"):
        told_gender(judged(["x"], [[0.1, 0.9]]).drop("gender_label"), "gender", None)


def test_genders_are_compared_within_each_race_by_as_many_names() -> None:
    """A list with six men's names of one race beside two women's: four of them are left out, by no choice of ours."""
    names = [(f"w{i}", "woman", "a") for i in range(2)] + [(f"m{i}", "man", "a") for i in range(6)]
    names += [(f"v{i}", "woman", "b") for i in range(3)] + [(f"n{i}", "man", "b") for i in range(3)]
    names += [("x", "woman", None)]
    rows = [(name, name, gender, race, "B", 2, "hi") for name, gender, race in names]
    columns = ["conversation", "name", "gender", "race_ethnicity", "speaker", "turn", "text"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    chats = build_chats(frame, OPTIONS)
    counts = dict(
        chats.by_gender.group_by("race_ethnicity", "gender")
        .len()
        .select(pl.format("{} {}", pl.col("race_ethnicity").fill_null("no"), "gender"), "len")
        .iter_rows()
    )
    assert counts == {"a woman": 2, "a man": 2, "b woman": 3, "b man": 3, "no woman": 1}
    assert chats.by_race.height == 14
    kept = [set(build_chats(frame, AnalysisOptions(seed=seed)).by_gender["name"]) for seed in range(20)]
    assert len({frozenset(one) for one in kept}) > 5
    assert build_chats(frame, OPTIONS).by_gender.equals(chats.by_gender)
    table = by_name(chats)
    assert table.filter(pl.col("n_compared") > 0).height == 11


def test_failed_and_empty_replies_are_counted_and_not_read() -> None:
    frame = named_chats(talks=1).with_columns(error=pl.lit(None, pl.String))
    frame = frame.with_columns(
        text=pl.when(pl.col("turn") == 4).then(pl.lit("")).otherwise("text"),
        error=pl.when(pl.col("turn") == 5).then(pl.lit("model_error")),
        name_in_context=pl.col("turn") < 8,
        gender=pl.when(pl.col("name") == "Zoe")
        .then(pl.lit("nonbinary"))
        .otherwise(pl.col("gender").str.to_uppercase()),
    )
    chats = build_chats(frame, OPTIONS)
    assert set(chats.frame["gender"].drop_nulls()) == {"woman", "man"}
    assert chats.frame.filter(pl.col("name") == "Zoe")["gender"].null_count() == 12
    turns = {row["turn"]: row for row in utterances_by_turn(chats).iter_rows(named=True)}
    assert sorted(turns) == list(range(2, 13))
    assert (turns[4]["n_empty"], turns[5]["n_missing"], turns[6]["n_missing"]) == (20, 20, 0)
    assert (turns[7]["in_context"], turns[8]["in_context"]) == (1.0, 0.0)
    assert turns[5]["words"] is None


def test_judgements_of_what_was_not_written_do_not_count() -> None:
    """A file may bring a text beside an error: whoever judged that text judged no reply."""
    whole = named_chats(talks=1).with_columns(
        toxicity_negative=(pl.col("turn") == 5) & (pl.col("gender") == "woman"),
        gender_label=pl.lit("woman"),
        lines_before=pl.lit(""),
    )
    failed = whole.with_columns(error=pl.when(pl.col("turn") == 5).then(pl.lit("x")))
    lost = whole.with_columns(text=pl.when(pl.col("turn") != 5).then("text"))
    for frame in (failed, lost):
        read = build_chats(frame, OPTIONS)
        rates = offence(read, OPTIONS).details["groups"].filter(pl.col("axis") == "gender")
        assert rates["rate"].to_list() == [0.0, 0.0]
        assert rates["n"].to_list() == [100, 100] and rates["n_missing"].to_list() == [10, 10]
        assert read.frame["told_gender"].null_count() == 20
    rows = offence(build_chats(whole, OPTIONS), OPTIONS).details["groups"].filter(pl.col("axis") == "gender")
    assert rows["rate"].to_list() == pytest.approx([0.0, 100 / 11])


def test_of_conversations_that_all_failed_no_rate_is_told() -> None:
    frame = named_chats(talks=1).with_columns(toxicity_negative=pl.lit(False), error=pl.lit("x"))
    found = offence(build_chats(frame, OPTIONS), OPTIONS).measurements
    judged = [row for row in found if row.measure == "disparity"]
    assert {row.axis for row in judged} == {"gender", "gender and race"}
    assert all(row.estimate is None and row.obstacle == "No response was classified." for row in judged)
    assert {row.measure for row in found if row.estimate is not None} <= {"missing_rate", "refusal_rate"}
