"""A file of continuations measured: judged already, by a score, by labels, or now; and what is said of a bad one."""

import numpy as np
import polars as pl
import pytest

from evenhand.schema import DataError, ModelError, UsageError
from evenhand.studies.audit.result import audit
from evenhand.studies.own_responses.conduct import measure_responses
from evenhand.studies.own_responses.result import measure


@pytest.fixture
def written(judged_house, tmp_path):
    """The continuations of an audit, as a user has them, and the numbers of that audit."""
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    frame = run.responses("rudeness").select("axis", "group", "text", "continuation", "rudeness_negative")
    judged_house.WordJudge.asked.clear()
    return frame, dict(run.measurements.select("group", "estimate").rows())


def rates(measured) -> dict:
    return dict(measured.measurements.select("group", "estimate").rows())


def save(frame: pl.DataFrame, folder, kind: str = "csv"):
    file = folder / f"mine.{kind}"
    {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[kind](file)
    return file


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("judgement", "threshold"),
    [
        (pl.col("rudeness_negative"), None),
        (pl.col("rudeness_negative").alias("negative"), None),
        (pl.col("rudeness_negative").cast(pl.Int8).alias("negative"), None),
        (pl.col("rudeness_negative").cast(pl.Float64).mul(0.4).alias("score"), 0.3),
        (pl.col("rudeness_negative").cast(pl.Float64).mul(0.4).alias("rudeness_score"), 0.4),
        (pl.when("rudeness_negative").then(pl.lit("Toxic")).otherwise(pl.lit("neutral")).alias("label"), None),
    ],
    ids=["role", "plain", "numbers", "score", "role score", "label"],
)  # fmt: skip
def test_a_file_of_judgements_gives_the_numbers_of_the_audit(written, tmp_path, kind, judgement, threshold):
    frame, expected = written
    measured = measure(
        save(frame.select("axis", "group", judgement), tmp_path, kind), "rudeness", threshold=threshold
    )
    assert rates(measured) == expected
    assert measured.findings.filter(group="red")["verdict"].item() == "biased"


@pytest.mark.parametrize("named", [["house/words"], ["rudeness=house/words"], {"rudeness": "house/words"}])
def test_continuations_are_judged_now(judged_house, written, tmp_path, named):
    frame, expected = written
    file = save(frame.drop("rudeness_negative", "text"), tmp_path)
    measured = measure(file, "rudeness", classifiers=named)
    assert rates(measured) == expected
    assert sorted(judged_house.WordJudge.asked) == sorted(judged_house.SAID), "identical ones once"
    assert measured.view().manifest["arguments_resolved"]["classifiers"] == {"rudeness": "house/words"}


def test_a_named_classifier_judges_in_place_of_the_files_own_verdicts(written, tmp_path):
    frame, _ = written
    file = save(frame.with_columns(rudeness_negative=~pl.col("rudeness_negative")), tmp_path)
    assert rates(measure(file, "rudeness"))["red"] == 0.0
    assert rates(measure(file, "rudeness", classifiers=["house/words"]))["red"] == 1.0


def test_a_scientist_with_a_csv_of_answers_and_vader(written, tmp_path):
    frame, _ = written
    measured = measure(save(frame, tmp_path), "rudeness", classifiers=["vader"])
    found = dict(measured.measured.responses.select("continuation", "rudeness_negative").unique().rows())
    assert (found[" is rude to us."], found[" is kind to us."]) == (True, False)


def test_samples_of_a_prompt_and_rows_of_their_own(written, tmp_path):
    frame, _ = written
    responses = measure(save(frame, tmp_path), "rudeness").measured.responses
    assert responses.group_by("prompt_id").len()["len"].to_list() == [2] * 24
    assert (
        responses.group_by("prompt_id").agg(pl.col("text").n_unique(), "sample")["sample"].to_list()
        == [[0, 1]] * 24
    )
    assert (
        measure(save(frame.drop("text"), tmp_path), "rudeness").measured.responses["prompt_id"].n_unique()
        == 48
    )


def test_what_is_missing_is_counted_by_why(written, tmp_path):
    frame, _ = written
    frame = frame.with_row_index("i").with_columns(
        rudeness_negative=pl.when(pl.col("i") % 16 != 0).then("rudeness_negative"),
        error=pl.when(pl.col("i") % 16 == 1).then(pl.lit("refused")),
    )
    measured = measure(save(frame, tmp_path), "rudeness")
    assert measured.measurements["n_missing"].to_list() == [2, 2, 2]
    errors = measured.measured.responses["rudeness_error"].value_counts().drop_nulls()
    assert dict(errors.rows()) == {"missing": 3, "refused": 3}
    nothing = frame.select("axis", "group", continuation=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="contains no generated text"):
        measure(save(nothing, tmp_path), "rudeness", classifiers=["vader"])


def test_of_two_roles_one_may_be_judged_by_the_file_and_one_now(judged_house, written, tmp_path):
    frame, expected = written
    file = save(frame.with_columns(noun=pl.col("group") + "-haired"), tmp_path)
    measured = measure(file, "two-roles", classifiers={"meanness": "house/words?word=mean"})
    assert rates(measured) == expected
    assert any(text.startswith("In case 3 my XYZ neighbour is") for text in judged_house.WordJudge.asked)
    assert set(measure(file, "two-roles").measured.responses["meanness_error"]) == {"missing"}


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (lambda f: f.drop("group"), {}, r"has no column 'group' \(found: axis, text, continuation,"),
        (lambda f: f.drop("rudeness_negative"), {}, "contains no judgement of rudeness"),
        (
            lambda f: f.drop("continuation"),
            {"classifiers": ["vader"]},
            r"has no column 'continuation' \(found: axis, group, text,",
        ),
        (lambda f: f.with_columns(rudeness_negative=pl.lit("maybe")), {}, "'rudeness_negative' must be true or false"),
        (lambda f: f.drop("rudeness_negative").with_columns(label=pl.lit("angry")), {}, "cannot tell which labels"),
        (lambda f: f.drop("rudeness_negative").with_columns(score=pl.lit("high")), {}, "row 1: 'score' is 'high'"),
        (lambda f: f.drop("rudeness_negative").with_columns(score=pl.lit(0.5)), {},
         "minimum score of a negative response"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_measured_names_the_column(written, tmp_path, change, options, told):
    with pytest.raises(DataError, match=told) as caught:
        measure(save(change(written[0]), tmp_path), "rudeness", **options)
    assert "mine.csv" in caught.value.message


def test_a_plain_column_does_not_say_for_which_of_two_roles(written, tmp_path):
    file = save(written[0].rename({"rudeness_negative": "negative"}), tmp_path)
    with pytest.raises(DataError, match=r"The role of 'negative' is not known .rudeness, meanness"):
        measure(file, "two-roles")
    with pytest.raises(DataError, match=r"has no column 'noun' \(found: axis, group, text, continuation,"):
        measure(file, "two-roles", classifiers={"meanness": "vader"})


def test_wrong_names_and_options(written, tmp_path):
    file = save(written[0], tmp_path)
    with pytest.raises(UsageError, match="Unknown role: 'rudness'"):
        measure(file, "rudeness", classifiers=["rudness=vader"])
    with pytest.raises(UsageError, match="Unknown classifier: 'vadre'"):
        measure(file, "rudeness", classifiers=["vadre"])
    with pytest.raises(ModelError, match="To use another one: --classifier"):
        measure(file, "rudeness", classifiers=["house/words?word=absent"])
    with pytest.raises(UsageError, match="the benchmark evenhand-likelihood has no classifier scores"):
        measure_responses(file, "evenhand-likelihood", threshold=0.5)
    with pytest.raises(UsageError, match="has no effect here: evenhand-likelihood does not use a classifier"):
        measure(file, "evenhand-likelihood", classifiers=["vader"])


def test_where_a_judge_is_optional_the_continuations_alone_will_do(written, tmp_path):
    file = save(written[0], tmp_path)
    assert "perplexity_score" not in measure(file, "fluency").measured.responses.columns
    judged = measure(file, "fluency", classifiers=["puppet/uniform"]).measured.responses
    assert judged["perplexity_score"].to_list() == pytest.approx([float(np.exp(2))] * 48)
    scored = save(written[0].with_columns(perplexity_score=pl.lit(12.5)), tmp_path)
    assert set(measure(scored, "fluency").measured.responses["perplexity_score"]) == {12.5}
    with pytest.raises(DataError, match="has no column 'continuation'"):
        measure(save(written[0].drop("continuation"), tmp_path), "fluency")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_groups_that_are_numbers_are_names(tmp_path, kind):
    """Codes 1 and 2 of a questionnaire: of JSON and Parquet they ended in an error of the join of two tables."""
    groups, n = [1, 2], 30
    frame = pl.DataFrame(
        {
            "axis": ["age"] * 2 * n,
            "group": groups * n,
            "prompt_id": [f"{i}" for i in range(2 * n)],
            "toxicity_negative": [i % 3 == 0 for i in range(2 * n)],
        }
    )
    measured = measure(save(frame, tmp_path, kind), "bold")
    named = measured.measurements.filter(pl.col("measure") == "group_difference")["group"]
    assert named.sort().to_list() == ["1", "2"]


def test_openers_of_conversations_are_neither_counted_nor_missing(tmp_path):
    said = {"Ann": "woman", "Bob": "man"}
    rows = [
        {"conversation": name, "name": name, "gender": gender, "speaker": "BA"[turn % 2], "turn": turn}
        | {"text": "Hi!" if turn < 3 else None, "gender_label": None if turn == 1 else gender}
        for name, gender in said.items()
        for turn in (1, 2, 3)
    ]
    file = tmp_path / "chats.csv"
    pl.DataFrame(rows).write_csv(file)
    benchmark = measure(file, "names").view().benchmarks[0]
    assert benchmark.written.told(benchmark.n_prompts) == "2 conversations, 4 replies"
    assert benchmark.n_errors == 2  # the third utterances, which nobody wrote
    assert benchmark.written.failures.select("step", "error", "count").rows() == [("written", "missing", 2)]


def failing(judged_house, monkeypatch, fails):
    """Let the classifier fail on a text where `fails` is true of it."""
    good = judged_house.WordJudge.classify

    def classify(self, texts, contexts=None):
        if any(fails(text) for text in texts):
            raise ValueError("the reply has\nno label")
        return good(self, texts, contexts)

    monkeypatch.setattr(judged_house.WordJudge, "classify", classify)


def test_a_classifier_that_judges_nothing_is_an_error_with_its_cause(
    judged_house, written, tmp_path, monkeypatch
):
    file = save(written[0], tmp_path)
    failing(judged_house, monkeypatch, lambda text: True)
    message = r"words/rude judged none of 4 texts. Errors: classifier_error \(4\): ValueError: the reply has no label"
    with pytest.raises(ModelError, match=message):
        measure(file, "rudeness", classifiers=["house/words"])
    monkeypatch.setattr(judged_house.WordJudge, "classify", lambda self, texts, contexts=None: None)
    with pytest.raises(
        ModelError, match="returned an object of type NoneType, which has no scores, labels, score"
    ):
        measure(file, "rudeness", classifiers=["house/words"])


def test_texts_that_a_classifier_did_not_judge_are_reported_with_the_cause(
    judged_house, written, tmp_path, monkeypatch
):
    file = save(written[0], tmp_path)
    failing(judged_house, monkeypatch, lambda text: "mean" in text)
    told = measure(file, "rudeness", classifiers=["house/words"]).told
    assert told == (
        "The classifier words/rude did not judge 1 of 4 texts. "
        "Errors: classifier_error (1): ValueError: the reply has no label.",
    )


@pytest.fixture
def offers() -> pl.DataFrame:
    """Offers to women and men in three regions and at two ages, of which the latter differ between the genders."""
    rng = np.random.default_rng(5)
    rows = []
    for number in range(600):
        region, age = ("north", "south", "east")[number % 3], "old" if rng.random() < 0.5 else "young"
        who = "women" if rng.random() < (0.7 if age == "old" else 0.3) else "men"
        offer = 0.3 - 0.2 * (age == "old") + 0.1 * (who == "women" and region == "north") + 0.1 * rng.normal()
        rows.append({"who": who, "region": region, "age": age, "offer": offer})
    return pl.DataFrame(rows)


def test_a_difference_that_is_adjusted_for_another_column_is_called_so(offers):
    roles = {"who": "group", "region": "group", "age": "group", "offer": "score"}
    lines = measure(offers, columns=roles).tables()["headlines"]
    pair = lines.filter(axis="who × region")["sentence"].item()
    assert "adjusted difference" in pair and "unadjusted: women" in pair
    assert pair.count("Differences are adjusted for age; means are not.") == 1
    alone = measure(offers.drop("age"), columns={k: v for k, v in roles.items() if k != "age"})
    assert "adjusted" not in alone.tables()["headlines"].filter(axis="who × region")["sentence"].item()


def test_neither_side_of_a_threshold_is_called_worse(offers):
    found = measure(offers, columns={"age": "group", "offer": "score"}, threshold=0.2)
    sentence = found.tables()["headlines"]["sentence"].item()
    assert "had offer of 0.2 or more" in sentence and "worse" not in sentence and "judgements" not in sentence
    page = found.html()
    body = page.split("How to read this</h2>")[0]
    assert "1 of 2 groups higher, 1 lower" in body and "treated worse" not in body
    assert "↗</span> above" in body and "worse</span>" not in body
    assert "The numbers came with the file, and the threshold from your command." in page


def test_each_number_on_one_of_three_groups_is_of_the_same_comparison():
    rng = np.random.default_rng(0)
    region = np.tile(["north", "south", "east"], 40)
    pay = 100.0 - 30.0 * (region == "south") + 12 * rng.normal(size=40).repeat(3) + rng.normal(size=120)
    found = measure({"region": region, "pay": pay}, columns={"region": "group", "pay": "score"})
    south = found.tables()["score_groups"].row(by_predicate=pl.col("group") == "south", named=True)
    assert south["estimate"] == pytest.approx(pay[region == "south"].mean() - pay[region != "south"].mean())
    sentence = found.tables()["headlines"]["sentence"].item()
    assert "higher for the other two groups (" in sentence and "than for south (" in sentence
    assert sentence.count("difference ") == 1 and f"difference {-south['estimate']:.0f}, 95% CI" in sentence
    assert "q < 0.001" in sentence and "of the same comparison" in found.html()
