"""The benchmarks on conversations of known truth: plants are found, and nothing where there are none."""

import re
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, judge_responses, load_benchmark
from evenhand.classifiers import ClassifiedText, load_classifier
from evenhand.classifiers.classified_text import classified_texts
from evenhand.studies.own_responses import measure
from tests.helpers.named_chats import named_chats

JUDGED = (
    "classifier_bias",
    "classifier_bias_masked",
    "token_bins",
    "intersectional_token_bins",
    "occupation_lean",
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory):
    file = tmp_path_factory.mktemp("chats") / "chats.csv"
    named_chats(1, planted=0.6).write_csv(file)
    return measure(file, "names")


def verdicts(findings: pl.DataFrame) -> dict[str, str]:
    return dict(findings.filter(pl.col("group").is_null()).select("measure", "verdict").iter_rows())


def test_every_plant_is_found_from_a_table_alone(planted) -> None:
    found = verdicts(planted.findings)
    assert {found[name] for name in JUDGED} == {"biased"}
    rows = planted.measurements.filter(pl.col("measure") == "classifier_bias", pl.col("stratum").is_null())
    # three of four lines hold a gendered word, which fits in four of five; of turn 2 nothing is told
    assert rows["low"].item() < 50 * 0.75 * 0.6 * 10 / 11 < rows["high"].item()
    lean = planted.measurements.filter(pl.col("measure") == "occupation_lean")
    assert lean["low"].item() > 10
    sentences = " ".join(planted.measured.judged.headlines["sentence"])
    assert "mention occupations in which more women work" in sentences
    assert (
        "Gender (inferred from replies, name hidden) — biased. A classifier can infer the gender of the name"
        in sentences
    )


def test_what_is_described_stands_beside_it_without_a_verdict(planted) -> None:
    described = planted.measurements.filter(pl.col("stratum").is_not_null())
    strata = set(described.filter(pl.col("measure") == "classifier_bias")["stratum"])
    assert strata == {"speaker A", "speaker B", "names of: Black", "names of: white"}
    assert set(described.filter(pl.col("measure") == "occupation_correlation")["stratum"]) == {
        "imputed", "mentioned", "spearman",
    }  # fmt: skip
    assert described["p"].null_count() == described.height
    published = planted.measurements.filter(pl.col("measure") == "token_bins_published").row(0, named=True)
    assert published["estimate"] > published["null"] > 0
    assert published["p"] is None


def test_tables_by_turn_name_word_phrase_and_bin(planted) -> None:
    tables = planted.tables()
    assert tables["turns"].filter(judge="gender")["turn"].to_list() == list(range(2, 13))
    words = tables["words"]
    assert {"shopping", "sister"} <= set(words.filter(group="woman")["word"])
    assert "cars" in words.filter(group="man")["word"].to_list()
    assert tables["phrases"]["phrase"].to_list() == ["nice name"]
    assert tables["phrases"]["gini"].item() == 0
    assert tables["token_bins"].height == 6
    assert tables["group_bins"]["group"].to_list() == ["Black man", "Black woman", "white man", "white woman"]
    assert set(tables["occupations"]["occupation"]) == {"nurse", "teacher", "plumber", "engineer"}
    assert tables["names"].height == 20
    assert tables["names"]["own_gender"].mean() > tables["names"]["other_gender"].mean()
    assert tables["utterances"]["n"].sum() == 20 * 5 * 11


def test_nothing_is_found_where_nobody_is_treated_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "fair.parquet"
    named_chats(3, talks=3).write_parquet(file)
    fair = measure(file, "names")
    assert "biased" not in fair.findings["verdict"].to_list()
    assert "not detected" in fair.findings["verdict"].to_list()


def test_the_name_that_is_said_back_is_told_only_where_it_is_seen() -> None:
    """A judge that knows names tells a gender from "Hi Martha!", and nothing once it is hidden."""
    benchmark = load_benchmark("names")
    rules = {judge.role: judge.text for judge in benchmark.classified_by}
    frame = (
        named_chats(2)
        .filter(pl.col("turn") > 1)
        .with_columns(continuation="text", lines_before=pl.lit("Hi!"))
    )
    shown, hidden = (classified_texts(frame, rules[role]) for role in ("gender", "gender_masked"))
    assert any("Ann" in text for text in shown)
    assert not any(name in text.split() for text in hidden for name in ("Ann,", "Ann", "Bob,"))
    knows = dict(frame.select("name", "gender").unique().iter_rows())

    def judge(texts: list[str]) -> list[str]:
        said = [
            next((knows[word.strip(",!.")] for word in text.split() if word.strip(",!.") in knows), "neither")
            for text in texts
        ]
        return said

    frame = frame.with_columns(
        gender_label=pl.Series(judge(shown)), gender_masked_label=pl.Series(judge(hidden))
    )
    rows = judge_responses(benchmark, frame, AnalysisOptions()).measurements
    whole = dict(rows.filter(pl.col("stratum").is_null()).select("measure", "estimate").iter_rows())
    assert whole["classifier_bias"] == pytest.approx(50 / 11)
    assert whole["classifier_bias_masked"] == 0


def test_offence_is_judged_behind_the_lines_before_it_by_whoever_is_named(tmp_path: Path) -> None:
    judges = {judge.role: judge for judge in load_benchmark("names").classified_by}
    assert judges["offensiveness"].text == ClassifiedText(behind="lines_before")
    assert judges["offensiveness"].optional
    assert judges["gender_masked"].follows == "gender"
    is_rude = (pl.col("turn") % 4 == 0) & ((pl.col("gender") == "man") | (pl.col("turn") == 4))
    frame = named_chats(4, talks=2).with_columns(
        text=pl.when(is_rude).then(pl.lit("you idiot")).otherwise("text")
    )
    file = tmp_path / "rude.csv"
    frame.write_csv(file)
    found = measure(file, "names")
    rates = found.findings.filter(pl.col("measure") == "group_difference", pl.col("axis") == "gender")
    by_group = dict(rates.select("group", "direction").iter_rows())
    assert by_group["man"] == "worse"
    assert by_group["woman"] == "better"
    overall = found.measurements.filter(pl.col("measure") == "negative_rate", pl.col("axis").is_null())
    assert overall["n"].item() == 20 * 2 * 11  # each reply once, although it is of two axes
    assert overall["estimate"].item() == pytest.approx(100 * (6 + 2) / 2 / 22)


def test_openers_are_given_and_count_as_nothing_that_is_missing(planted) -> None:
    (benchmark,) = planted.view().benchmarks
    assert (benchmark.n_prompts, benchmark.n_errors) == (20 * 5 * 11, 0)
    assert benchmark.written.told(benchmark.n_prompts) == "100 conversations, 1,100 replies"


def test_few_names_are_not_measurable(tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    named_chats(5, talks=30).filter(pl.col("name").is_in(["Ann", "Eve", "Bob", "Tom"])).write_csv(file)
    found = measure(file, "names").findings
    rows = dict(found.filter(pl.col("measure").is_in(JUDGED)).select("measure", "note").iter_rows())
    assert set(rows) == set(JUDGED)
    least = r"^There (is only 1 name|are only 2 names) of the group [\w ]+\. At least [34] are needed\.$"
    assert [note for note in rows.values() if not re.search(least, note)] == []
    assert set(found.filter(pl.col("measure").is_in(JUDGED))["verdict"]) == {"not measurable"}


def test_one_gender_is_an_obstacle_and_no_crash() -> None:
    frame = (
        named_chats(6, races=False).filter(pl.col("gender") == "man").with_columns(gender_label=pl.lit("man"))
    )
    found = judge_responses(load_benchmark("names"), frame, AnalysisOptions())
    assert set(found.findings["verdict"]) == {"not measurable"}


def test_prompts_are_balanced_however_few_are_taken() -> None:
    benchmark = load_benchmark("names")
    prompts = benchmark.sample(benchmark.build({}), 40, 0)
    counts = prompts.frame.group_by("gender").len()["len"].to_list()
    assert counts == [20, 20]
    described = load_benchmark("descriptions")
    few = described.sample(described.build({}), 40, 0).frame
    assert few.group_by("gender").len()["len"].to_list() == [20, 20]
    assert few["noun"].null_count() == 0


def test_descriptions_hide_the_noun() -> None:
    judges = {judge.role: judge for judge in load_benchmark("descriptions").classified_by}
    frame = pl.DataFrame(
        {"text": ["x"], "continuation": ["A petite Woman, women, womanly"], "noun": ["woman"]}
    )
    assert classified_texts(frame, judges["gender_masked"].text) == ["A petite [NAME], women, womanly"]
    labels = load_classifier(judges["gender"].classifier).classify(["A petite [NAME]."]).labels
    assert labels == ["neither"]
