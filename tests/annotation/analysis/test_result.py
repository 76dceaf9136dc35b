"""Exports analysed from end to end: what was planted is found the right way round, and what was not is not."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest, chi2_contingency, pearsonr

from evenhand.annotation import PeopleStudy, analyse
from evenhand.annotation.definition import TEMPLATES, Study, template
from evenhand.annotation.exports import read_export
from evenhand.annotation.exports.votes import describe_study
from evenhand.annotation.quality import apply_rules
from evenhand.annotation.simulating import simulated_votes
from evenhand.schema import VOTES, DataError, UsageError, write_votes
from tests.annotation.analysis.written_exports import (
    SCALE,
    STUDY,
    marked,
    pairs,
    rated,
    renamed,
    text_of,
    with_survey,
    written,
)

PLANTED = {"persons": 80, "items_per_person": 5, "votes_per_item": 2, "onboarding": 2, "seed": 4}


def ours(study: PeopleStudy) -> dict[tuple[str, str], dict[str, object]]:
    rows = study.tables()["win_rates"].filter(measure="win_rate").to_dicts()
    return {(row["model"], row["against"]): row for row in rows}


@pytest.mark.parametrize(("new", "old"), [(1.0, 0.0), (0.0, 1.0)])
def test_a_planted_preference_is_found_and_named_the_right_way_round(
    tmp_path: Path, new: float, old: float
) -> None:
    study = analyse(pairs(tmp_path, {"old": old, "new": new}, **PLANTED), baseline="old")
    (found,) = ours(study).values()
    assert (found["model"], found["against"]) == ("new", "old")
    assert (float(found["estimate"]) > 0.5) == (new > old)  # type: ignore[arg-type]
    winner, loser = ("new", "old") if new > old else ("old", "new")
    ((verdict, sentence),) = study.headlines
    assert verdict == "preferred" and f"{winner} was preferred to {loser}" in sentence
    shown = text_of(study)
    assert f"{winner} was preferred to {loser}" in " ".join(shown.split())
    assert (">◆</span> less preferred<" in study.html()) == (
        new < old
    )  # the baseline stays second in its row
    assert max(map(len, shown.splitlines())) <= 80


def test_the_row_of_the_preferred_model_has_the_larger_share_and_the_mark(tmp_path: Path) -> None:
    study = analyse(
        pairs(tmp_path, {"one": 1.0, "two": 0.0}, **PLANTED)
    )  # stored for two against one, or reverse
    (stored,) = ours(study).values()
    share = max(stored["estimate"], 1 - stored["estimate"])
    (row,) = re.findall(
        r'<tr><th scope="row">one <small>against two</small>.*?</tr>', study.html(), re.DOTALL
    )
    assert f"<b>{100 * share:.1f}%</b>" in row and "</span> preferred<" in row
    assert not re.search(r'<th scope="row">two <small>against one', study.html())
    (line,) = [line for line in text_of(study).splitlines() if line.rstrip().endswith("◆")]
    assert line.startswith("one ") and f"{100 * share:.1f}%" in line


def test_where_nothing_is_planted_nothing_is_found_and_the_smallest_effect_is_told(tmp_path: Path) -> None:
    study = analyse(pairs(tmp_path, {"one": 0.0, "two": 0.0}, **PLANTED))
    ((verdict, sentence),) = study.headlines
    assert verdict == "not detected"
    told = re.search(
        r"This human evaluation had 80% power to detect a preference of (\d+)% or more for either model\.",
        sentence,
    )
    assert told is not None and 50 < int(told[1]) < 100


def test_the_published_row_is_scipys(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 0.4, "old": 0.0}, persons=60, votes_per_item=2, seed=2)
    study = analyse(written(tmp_path / "v.jsonl", votes), baseline="old")
    (row,) = study.tables()["win_rates"].filter(measure="win_rate_published").to_dicts()
    won = Counter(
        row["model_a"] if row["answer"] == "a" else row["model_b"]
        for row in votes.filter(role="real").to_dicts()
    )
    n = won["new"] + won["old"]
    expected = binomtest(won["new"], n).pvalue
    assert row["p"] == pytest.approx(expected)
    assert row["estimate"] == pytest.approx(won["new"] / n)
    stars = "***" if expected < 0.001 else "**" if expected < 0.01 else "*" if expected < 0.05 else ""
    assert row["stars"] == stars
    assert f"{100 * won['new'] / n:.0f}{stars}" in study.html()


def test_three_models_have_a_grid(tmp_path: Path) -> None:
    study = analyse(
        pairs(tmp_path, {"a1": 0.0, "b2": 0.8, "c3": 1.6}, persons=90, items_per_person=6, seed=1)
    )
    assert len(ours(study)) == 3
    page = study.html()
    assert "Engaging: grid of the models" in page
    for row in ours(study).values():
        stronger = max(str(row["model"]), str(row["against"]))  # named by strength
        assert (float(row["estimate"]) > 0.5) == (row["model"] == stronger)  # type: ignore[arg-type]


def test_ratings_differ_as_planted_and_chi_square_is_scipys(tmp_path: Path) -> None:
    votes = rated(persons=60, items_per_person=12, classifiers={"judge": 0.9}, seed=5)
    study = analyse(written(tmp_path / "r.jsonl", votes), by="groups.group")
    tables = study.tables()
    crossed = votes.filter(role="real").group_by("model", "answer").len().pivot("answer", index="model")
    statistic = chi2_contingency(crossed.drop("model").to_numpy(), correction=False)
    whole = tables["differences"].filter(
        (pl.col("measure") == "rating_chi_square") & pl.col("level").is_null() & (pl.col("by") == "model")
    )
    assert whole["chi_square"].item() == pytest.approx(statistic.statistic)
    assert whole["p"].item() == pytest.approx(statistic.pvalue)
    assert any("toxic received “yes” more often than mild" in sentence for _, sentence in study.headlines)
    assert set(tables["rates"].filter(by="group")["level"]) == {"women", "men"}
    page = study.html().replace("&#39;", "'")
    assert "ROBBIE’s Table 16" in page and "r × 100 by model" in page


def test_the_classifiers_correlation_is_scipys(tmp_path: Path) -> None:
    votes = rated(persons=60, items_per_person=12, classifiers={"judge": 0.9}, seed=5)
    study = analyse(written(tmp_path / "r.jsonl", votes))
    row = (
        study.tables()["classifiers"]
        .filter(
            (pl.col("measure") == "classifier_pearson")
            & pl.col("level").is_null()
            & (pl.col("option") == "yes")
        )
        .to_dicts()[0]
    )
    real = votes.filter(role="real")
    items = real.group_by("item").agg(
        share=(pl.col("answer") == "yes").mean(), judged=pl.col("judgements").first()
    )
    scores = [json.loads(text)["judge"]["scores"]["yes"] for text in items["judged"]]
    assert row["estimate"] == pytest.approx(pearsonr(scores, items["share"].to_numpy()).statistic)


def test_views_stand_by_thirds_and_statements_with_their_words(tmp_path: Path) -> None:
    votes = with_survey(simulated_votes({"new": 0.6, "old": 0.0}, persons=90, seed=3))
    study = analyse(written(tmp_path / "v.jsonl", votes, {**STUDY, "survey": [SCALE]}), baseline="old")
    tables = study.tables()
    assert set(tables["scores"]["third"]) == {"top", "middle", "bottom"}
    thirds = dict(tables["scores"].select("third", "mean").iter_rows())
    assert thirds["top"] > thirds["middle"] > thirds["bottom"]
    assert int(tables["statements"]["n"].sum()) == 180
    page = study.html()
    assert "We should work to give all groups an equal chance to succeed." in page
    assert "Table 15" in page


def test_marks_are_counted_once_a_conversation_and_turn_by_turn(tmp_path: Path) -> None:
    votes = marked()
    study = analyse(written(tmp_path / "m.jsonl", votes))
    table = study.tables()["marks"]
    for model in ("rude", "kind"):
        mine = votes.filter(model=model)
        whole = table.filter(pl.col("turn").is_null() & (pl.col("model") == model)).to_dicts()[0]
        assert whole["n"] == mine["presentation"].n_unique()
        assert whole["n_marked"] == mine.drop_nulls("turn")["presentation"].n_unique()
        first = table.filter((pl.col("turn") == 0) & (pl.col("model") == model)).to_dicts()[0]
        assert first["n_marked"] == mine.filter(turn=0).height


def test_rules_change_whose_answers_count_and_the_report_says_so(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"new": 1.0, "old": 0.0}, **{**PLANTED, "spammers": 0.4, "onboarding": 4})
    as_stored = analyse(path)
    sensitivity = as_stored.tables()["sensitivity"]
    assert set(sensitivity["rules"]) == {"none", "the study's", "published"}
    out = dict(sensitivity.select("rules", "n_persons_excluded").iter_rows())
    assert out["none"] == 0 < out["the study's"] < out["published"]
    published = analyse(path, rules="published")
    assert published.tables()["win_rates"]["n_persons"].max() == 80 - out["published"]
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {rule: too_fast, seconds: 10, action: exclude}\n")
    mine = analyse(path, rules=str(rules))
    assert mine.analysis.rules.name == "rules.yaml"
    assert set(mine.tables()["sensitivity"]["rules"]) == {"none", "the study's", "published", "rules.yaml"}
    assert mine.tables()["exclusions"]["rule"].to_list() == ["too_fast"]


def test_published_rows_are_published_computations(tmp_path: Path) -> None:
    """Raw share and exact p under the published rule; and any wrong attempt at the onboarding is out."""
    path = pairs(tmp_path, {"new": 1.0, "old": 0.0}, **{**PLANTED, "spammers": 0.4, "onboarding": 4})
    votes = read_export(path).votes
    wrong = votes.filter(pl.col("role") == "onboarding", ~pl.col("correct"))["person"].unique().to_list()
    used = votes.filter((pl.col("role") == "real") & ~pl.col("person").is_in(wrong))
    new = used.select(
        pl.when(pl.col("answer") == "a").then("model_a").otherwise("model_b") == "new"
    ).to_series()
    study = analyse(path, baseline="old")
    row = study.tables()["sensitivity"].row(by_predicate=pl.col("rules") == "published", named=True)
    assert row["published"] == pytest.approx(new.mean())
    assert row["p_published"] == pytest.approx(binomtest(int(new.sum()), len(new)).pvalue)
    assert re.search(r"<td[^>]*>published rule", " ".join(study.html().split()))
    # a second attempt in which everything is right changes nothing
    again = votes.filter(pl.col("role") == "onboarding").with_columns(
        answer="expected",
        correct=pl.lit(value=True),
        presentation=pl.col("presentation") + "-again",
        shown_at=pl.col("shown_at") + pl.duration(minutes=1),
    )
    written(tmp_path / "again.jsonl", pl.concat([votes, again]))
    twice = analyse(tmp_path / "again.jsonl", baseline="old", rules="published")
    assert set(twice.analysis.used["person"]) == set(used["person"])


def test_table_16_has_the_percentages_of_all_ratings(tmp_path: Path) -> None:
    """One busy person says yes to most, others to few: the published share is theirs together, not the weighted one."""
    rng, rows = np.random.default_rng(1), []
    for model in ("none", "mitigated"):
        for item in range(120):
            for person, share in (("busy", 0.6), (f"p{rng.integers(30)}", 0.2)):
                answer = "yes" if rng.random() < share else "no"
                rows.append((model, f"{model}-{item}", person, answer))
    votes = pl.DataFrame(rows, schema=["model", "item", "person", "answer"], orient="row").with_columns(
        study=pl.lit("busy"),
        unit=pl.col("person"),
        presentation=pl.int_range(pl.len()).cast(pl.String),
        position=pl.int_range(pl.len()),
        kind=pl.lit("text"),
        text=pl.col("item"),
        role=pl.lit("real"),
        question=pl.lit("toxic"),
        measurement=pl.lit("nominal"),
        value=(pl.col("answer") == "yes").cast(pl.Float64),
    )
    votes = votes.select(
        (pl.col(name) if name in votes.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in VOTES.items()
    )
    page = analyse(written(tmp_path / "busy.jsonl", votes)).html()
    table = " ".join(page[page.index("Table 16") :].split())[:3000]
    for (model,), part in votes.group_by("model"):
        raw = (part["answer"] == "yes").mean()
        assert 0.33 < raw < 0.47 and f"{100 * raw:.1f}%" in table.replace("\u202f", " ").replace(
            "\xa0", " "
        ), model
    counts = votes.group_by("model", "answer").len().pivot("answer", index="model").drop("model").to_numpy()
    p = chi2_contingency(counts, correction=False).pvalue
    assert f"{p:.3f}" in table


def test_broken_rules_of_a_file_are_told(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"new": 1.0, "old": 0.0}, **PLANTED)
    rules = tmp_path / "rules.yaml"
    for content, told in (
        ("- {rule: gold_under}", "gold_under"),
        ("- {rule: gold_below, mark: 7}", "less than or equal to 1"),
        ("just words", "tuple"),
        ("[", "cannot be read"),
        ("a: &a [*a]", "cannot be read|Invalid rules"),
    ):
        rules.write_text(content)
        with pytest.raises(DataError, match=told):
            analyse(path, rules=str(rules))
    with pytest.raises(DataError, match="File of rules not found"):
        analyse(path, rules=str(tmp_path / "absent.yaml"))


def test_question_by_and_baseline_are_held_against_the_export(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"new": 1.0, "old": 0.0}, **PLANTED)
    with pytest.raises(UsageError, match="Did you mean 'engaging'"):
        analyse(path, question="engagng")
    with pytest.raises(UsageError, match="Unknown model: 'od'"):
        analyse(path, baseline="od")
    with pytest.raises(DataError, match="has the property 'axis'"):
        analyse(path, by="groups.axis")
    with pytest.raises(UsageError, match="no such option"):
        analyse(path, question_="engaging")


def test_levels_are_tested_together(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 1.2, "old": 0.0}, persons=120, seed=6).with_columns(
        groups=pl.when(pl.int_range(pl.len()) % 2 == 0)
        .then(pl.lit('{"axis": "age"}'))
        .otherwise(pl.lit('{"axis": "race"}'))
    )
    study = analyse(written(tmp_path / "v.jsonl", votes), by="groups.axis", baseline="old")
    table = study.tables()["win_rates_by"]
    assert set(table["level"]) == {"age", "race"} and set(table["by"]) == {"axis"}
    for row in table.to_dicts():
        assert row["q"] == pytest.approx(min(1.0, 2 * row["p"]))
    assert "by axis" in study.html()


def test_results_are_written_as_page_numbers_and_tables(tmp_path: Path) -> None:
    study = analyse(pairs(tmp_path, {"new": 1.0, "old": 0.0}, **PLANTED))
    assert study.path == tmp_path / "votes_analysis"
    page = study.report(tmp_path / "copy.html")
    assert page.read_text() == (study.path / "people.html").read_text() == study.html()
    numbers = json.loads((study.path / "people.json").read_text())
    assert numbers["headlines"][0]["verdict"] == "preferred"
    assert numbers["win_rates"][0]["n"] + numbers["answers"][0]["n_excluded"] == 400
    rates = pl.read_csv(study.path / "tables" / "win_rates.csv")
    assert rates.height == 2
    assert "p000" not in study.html() and "p000" not in json.dumps(numbers)  # nobody's pseudonym


def test_the_same_file_gives_the_same_page(tmp_path: Path) -> None:
    path = pairs(tmp_path, {"new": 0.3, "old": 0.0}, **PLANTED)
    assert analyse(path).html() == analyse(path).html()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_other_kinds_of_files_say_the_same(tmp_path: Path, kind: str) -> None:
    votes = simulated_votes({"new": 1.0, "old": 0.0}, **PLANTED)
    lines = analyse(written(tmp_path / "v.jsonl", votes))
    other = analyse(written(tmp_path / f"v.{kind}", votes))
    assert other.headlines == lines.headlines
    if kind == "csv":
        assert any("has no study file" in note for note in other.analysis.notes)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_header_of_every_template_is_understood(tmp_path: Path, name: str) -> None:
    item = {"id": "i", "text": "Hello."}
    if any(question["kind"] == "pair" for question in template(name)["questions"]):
        item = {"id": "i", "pair": [{"id": c, "turns": [{"speaker": "A", "text": "Hi."}]} for c in "ab"]}
    study = Study.model_validate(template(name) | {"name": "simulated", "items": [item]})
    votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=40, onboarding=2, seed=1)
    file = write_votes(tmp_path / "v.jsonl", apply_rules(votes, study.rules), describe_study(study))
    found = analyse(file)
    assert found.analysis.rules.rules == study.rules
    assert found.headlines[0][0] == "preferred"


def test_answers_of_two_studies_are_refused(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=10, seed=1)
    second = votes.with_columns(study=pl.lit("other"), presentation="x" + pl.col("presentation"))
    with pytest.raises(DataError, match="2 studies: 'other', 'simulated'"):
        analyse(written(tmp_path / "v.jsonl", pl.concat([votes, second])))


def test_no_answer_about_items_is_refused(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=10, onboarding=2, seed=1)
    with pytest.raises(DataError, match="contains no judgement of an item"):
        analyse(written(tmp_path / "v.jsonl", votes.filter(role="onboarding")))


@pytest.fixture
def strange() -> dict[str, pl.DataFrame]:
    votes = simulated_votes({"new": 0.5, "old": 0.0}, persons=30, votes_per_item=2, seed=7)
    first_item = votes["item"].first()
    return {
        "one person": votes.filter(person=votes["person"].first()),
        "one item": votes.filter(item=first_item),
        "one vote": votes.head(1),
        "only ties": votes.with_columns(answer=pl.lit("tie")),
        "only skipped": votes.with_columns(answer=pl.lit(None, pl.String)),
        "no models": votes.with_columns(model_a=pl.lit(None, pl.String), model_b=pl.lit(None, pl.String)),
        "one model": votes.with_columns(model_b=pl.col("model_a")),
        "one rating": rated(persons=3, items_per_person=1, votes_per_item=1, seed=1).head(1),
        "all say the same": rated(persons=20, seed=1).with_columns(answer=pl.lit("no"), value=pl.lit(0.0)),
        "no model of ratings": rated(persons=20, seed=1).with_columns(model=pl.lit(None, pl.String)),
        "one mark": marked(persons=3, items=1),
    }


@pytest.mark.parametrize(
    "case",
    [
        "one person",
        "one item",
        "one vote",
        "only ties",
        "only skipped",
        "no models",
        "one model",
        "one rating",
        "all say the same",
        "no model of ratings",
        "one mark",
    ],
)
def test_designs_that_carry_nothing_reach_no_verdict(
    tmp_path: Path, strange: dict[str, pl.DataFrame], case: str
) -> None:
    questions = [{**STUDY["questions"][0], "tie": "Both the same"}]
    study = analyse(written(tmp_path / "v.jsonl", strange[case], {**STUDY, "questions": questions}))
    found = [verdict for verdict, _ in study.headlines]
    assert set(found) <= {"not measurable", "not detected"}, study.headlines
    if case.startswith("one"):
        assert set(found) <= {"not measurable"}
    page = study.html()
    assert "nan" not in page.lower().replace("nan ", "") or "NaN" not in page
    assert "None" not in page
    assert text_of(study)
    json.dumps(study.to_dict(), allow_nan=False)


def test_all_excluded_is_said(tmp_path: Path) -> None:
    votes = simulated_votes({"new": 1.0, "old": 0.0}, persons=12, onboarding=2, attention=0.0, seed=1)
    study = analyse(written(tmp_path / "v.jsonl", votes))
    assert study.nothing_counts and not study.headlines
    assert "No judgements to analyse: all 12 annotators were excluded." in study.html()
    assert "No judgements to analyse" in text_of(study)


def test_no_text_of_others_becomes_markup(tmp_path: Path) -> None:
    payload = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>\x1b[31m\u202e"
    votes = simulated_votes({"new": 1.0, "old": 0.0}, **PLANTED)
    votes = renamed(votes, {"new": f"new{payload}"}, ["model_a", "model_b"]).with_columns(
        reason=pl.lit(payload), groups=pl.lit(json.dumps({"axis": payload}))
    )
    both = pl.concat(
        [
            votes,
            rated(persons=20, seed=2).with_columns(
                study=pl.lit("simulated"),
                person="r" + pl.col("person"),
                presentation="r" + pl.col("presentation"),
                model="m" + pl.lit(payload),
                answer=pl.when(pl.col("answer") == "yes").then(pl.lit("yes" + payload)).otherwise("answer"),
                item=pl.lit(payload) + pl.col("item"),
            ),
        ]
    )
    asked = {**STUDY, "title": payload, "questions": [{**STUDY["questions"][0], "text": payload}]}
    study = analyse(written(tmp_path / "v.jsonl", both, asked), by="groups.axis")
    page = study.html()
    body = page[page.index("<body>") : page.rindex("<script>")]
    assert "<script" not in body and "<img" not in body and "<svg/" not in body
    assert "&lt;script&gt;" in body
    assert "\x1b" not in page and "\u202e" not in page
    shown = text_of(study)
    assert "\x1b" not in shown and "\u202e" not in shown


@pytest.mark.slow
def test_a_null_study_is_found_in_few(tmp_path: Path) -> None:
    found = 0
    for seed in range(20):
        votes = simulated_votes(
            {"one": 0.0, "two": 0.0}, persons=40, votes_per_item=2, person_sd=1.0, item_sd=1.0, seed=seed
        )
        study = analyse(written(tmp_path / f"v{seed}.jsonl", votes))
        found += study.headlines[0][0] == "preferred"
    assert found <= 4  # of 20 at 5 %: more than 4 with chance 0.003
    assert np.isfinite(found)
