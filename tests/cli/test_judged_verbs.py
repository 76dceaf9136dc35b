"""`evenhand audit`, `rescore`, `agreement` and `measure` where continuations are judged."""

import json

import polars as pl
import pytest

from evenhand.runs import RunDirectory

AUDIT = ("audit", "house/writer", "-b", "rudeness", "-o", "run")
TWO = ("audit", "house/writer", "-b", "two-roles", "-o", "run")


def rates(folder) -> dict:
    return dict(RunDirectory.open(folder).measurements().select("group", "estimate").rows())


@pytest.fixture(autouse=True)
def _known(judged_house):
    """Benchmarks, classifiers and the model of tests/helpers/judged_house.py are there by name."""


def test_an_audit_of_continuations_from_one_command(evenhand, tmp_path):
    ended = evenhand(*AUDIT)
    assert ended.code == 0, ended.err
    ended.says("rudeness", "run: run", "4 texts")
    assert rates(tmp_path / "run") == {"red": 1.0, "brown": 0.0, "black": 0.0}
    assert "temperature 1.0, top-p 0.9" in (tmp_path / "run" / "report.html").read_text()


def test_decoding_and_classifiers_from_flags(evenhand, tmp_path):
    flags = ("--samples", 3, "--temperature", 0.5, "--top-k", 0, "--max-new-tokens", 2)
    judges = ("--classifier", "house/words?word=kind")
    ended = evenhand(*AUDIT, *flags, *judges)
    assert ended.code == 0, ended.err
    manifest = RunDirectory.open(tmp_path / "run").manifest
    decoding = manifest.asked["rudeness"].decoding
    assert (decoding["samples"], decoding["temperature"], decoding["top_k"]) == (3, 0.5, None)
    assert manifest.arguments_resolved["classifiers"] == {"rudeness": "house/words?word=kind"}
    assert manifest.arguments_given["classifier"] == ["house/words?word=kind"]
    said = pl.read_parquet(tmp_path / "run" / "details" / "rudeness" / "rows.parquet")["continuation"]
    assert said.str.split(" ").list.len().max() == 3, "a space and two words"


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        (
            (*AUDIT, "--decoding", "greedy", "--samples", 2),
            ("`--samples 2` has no effect: greedy decoding writes the same",),
        ),
        (
            (*AUDIT, "--decoding", "beam"),
            ("unknown value 'beam'; expected one of auto, greedy, published, sampling, gpt2",),
        ),
        ((*AUDIT, "--top-p", 1.5), ("--top-p",)),
        (
            (*AUDIT, "--classifier", "toxicity=vader"),
            ("Unknown role: 'toxicity'", "Known: rudeness"),
        ),
        ((*TWO, "--classifier", "vader"), ("`--classifier vader`: the role is missing", "rudeness=vader")),
        ((*AUDIT, "--classifier", "vadre"), ("Unknown classifier: 'vadre'. Did you mean 'vader'",)),
        (
            ("audit", "puppet/random", "--samples", 2),
            ("samples (--samples) has no effect here: evenhand-likelihood, evenhand-pll",),
        ),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_made(evenhand, tmp_path, command, parts):
    evenhand(*command).refused(2, *parts)
    assert not (tmp_path / "run").exists()


def test_a_benchmark_without_its_classifier_says_how_to_name_another(evenhand, tmp_path):
    command = ("audit", "house/writer", "-b", "no-judge", "-o", "run")
    evenhand(*command).refused(1, "The weights of this classifier are not here", "--classifier malice=NAME")
    assert not (tmp_path / "run").exists()
    assert evenhand(*command, "--classifier", "malice=house/words").code == 0
    ended = evenhand("audit", "house/writer", "--suite", "neighbours", "-o", "suite")
    assert ended.code == 0
    ended.says("left out: no-judge: Cannot load the classifier 'house/words?word=absent' (role malice, ")


def test_a_plan_tells_what_would_be_written_and_who_would_judge(evenhand, tmp_path, judged_house):
    ended = evenhand(*TWO, "--samples", 5, "--plan")
    assert ended.code == 0, ended.err
    ended.says(
        "24 prompts × 5 samples = 120", "temperature 1.0, top-p 0.9, up to 20 tokens, 5 samples a prompt",
        "LLaMa and OPT", "two-roles meanness house/words?word=mean ≤ 120", "estimated time",
    )  # fmt: skip
    assert judged_house.WordJudge.asked == [] and list(tmp_path.iterdir()) == []
    evenhand("audit", "house/writer", "-b", "fluency", "--plan").says("Not classified: perplexity in fluency")
    assert evenhand(*TWO).code == 0
    evenhand("audit", "run", "--plan").refused(
        2, "`--plan` cannot be used with a run folder: run has already", "Remove --plan"
    )


def test_too_many_texts_without_a_judgement_end_with_3(evenhand, tmp_path):
    judges = ("--classifier", "house/words?unsure=yes")
    evenhand(*AUDIT, *judges).refused(3, "25.0% of the texts could not be classified")
    assert (tmp_path / "run" / "report.html").is_file()
    assert evenhand("audit", "run", "--error-threshold", 0.3).code == 0


def test_interrupted_while_judging_it_ends_with_130_and_goes_on(evenhand, tmp_path, judged_house):
    judged_house.WordJudge.stop_after = 6
    evenhand(*TWO).refused(130, "interrupted", "All results so far are saved", "evenhand audit run")
    judged_house.WordJudge.stop_after = None
    ended = evenhand("audit", "run")
    assert ended.code == 0, ended.err
    assert rates(tmp_path / "run")["red"] == 1.0


def test_rescoring_and_going_back(evenhand, tmp_path, judged_house):
    assert evenhand(*AUDIT).code == 0
    responses = {path: path.read_bytes() for path in (tmp_path / "run" / "responses").iterdir()}
    ended = evenhand(
        "rescore", "run", "--classifier", "rudeness=house/words?word=kind", "--report", "copy.html"
    )
    assert ended.code == 0, ended.err
    assert rates(tmp_path / "run")["red"] == 0.0 < rates(tmp_path / "run")["black"]
    assert (tmp_path / "copy.html").read_text() == (tmp_path / "run" / "report.html").read_text()
    judged_house.WordJudge.asked.clear()
    assert evenhand("rescore", "run", "--classifier", "house/words").code == 0
    assert judged_house.WordJudge.asked == [] and rates(tmp_path / "run")["red"] == 1.0
    assert {path: path.read_bytes() for path in responses} == responses
    assert evenhand("rescore", "run", "--classifier", "house/words?unsure=yes").code == 3
    assert evenhand(
        "rescore", "run", "--classifier", "house/words?unsure=yes", "--error-threshold", 0.5
    ).code == 0  # fmt: skip


def test_what_cannot_be_rescored(evenhand, tmp_path, own):
    evenhand("rescore", "elsewhere", "--classifier", "vader").refused(1, "elsewhere does not exist")
    evenhand("rescore", "run").refused(2, "Missing option", "--classifier")
    evenhand("rescore", "run").refused(2, "vader: ", "evenhand rescore run --classifier vader")
    assert evenhand("audit", "puppet/random", *own, "-o", "scored").code == 0
    evenhand("rescore", "scored", "--classifier", "toxicity=vader").refused(
        1, "none of its benchmarks (evenhand-likelihood) has generated text"
    )
    assert evenhand(*AUDIT).code == 0
    evenhand("audit", "run", "--classifier", "vader").refused(
        2, "The run run is classified with the published classifiers, but", "evenhand rescore"
    )


def test_agreement_as_a_table_and_as_json(evenhand, tmp_path):
    assert evenhand(*AUDIT).code == 0
    evenhand("agreement", "run").refused(1, "has no two classifiers to compare", "evenhand rescore run")
    assert evenhand("rescore", "run", "--classifier", "house/words?word=us").code == 0
    ended = evenhand("agreement", "run", "-o", "out")
    assert ended.code == 0, ended.err
    ended.says(
        "a: words/rude@",
        "b: words/us@",
        "kappa",
        "correlation of scores",
        "only b",
        "numbers: out/agreement.json",
    )
    told = json.loads((tmp_path / "out/agreement.json").read_text())
    (pair,) = told["comparisons"]
    measures = {row["measure"]: row["estimate"] for row in pair["overall"]}
    assert measures["harsher"] < 0 < measures["kappa"] < 1
    assert {row["group"] for row in pair["groups"]} == {"red", "brown", "black"}


def test_a_scientist_with_a_csv_of_answers(evenhand, tmp_path):
    rows = [
        ("hair", "red", "You are a horrible, stupid liar."),
        ("hair", "brown", "What a lovely day, thank you!"),
    ]
    frame = pl.DataFrame(rows * 12, schema=["axis", "group", "continuation"], orient="row")
    frame.write_csv("answers.csv")
    ended = evenhand("measure", "answers.csv", "-b", "rudeness", "--classifier", "vader", "-o", "out")
    assert ended.code == 0, ended.err
    numbers = json.loads((tmp_path / "out" / "measurements.json").read_text())
    found = {row["group"]: row["estimate"] for row in numbers["measurements"]}
    assert found == {"red": 1.0, "brown": 0.0}
    assert numbers["manifest"]["arguments_resolved"]["classifiers"] == {"rudeness": "vader"}
    evenhand("measure", "answers.csv", "-b", "rudeness").refused(
        1, "contains no judgement of rudeness", "--classifier rudeness=vader"
    )
    frame.with_columns(score=pl.when(pl.col("group") == "red").then(0.7).otherwise(0.2)).write_csv(
        "scored.csv"
    )
    assert evenhand("measure", "scored.csv", "-b", "rudeness", "--threshold", 0.5).code == 0
    evenhand("measure", "scored.csv", "-b", "rudeness").refused(1, "--threshold")


def test_what_a_benchmark_of_continuations_needs_in_a_file_is_on_its_card(evenhand):
    evenhand("show", "two-roles").says(
        "`rudeness_negative` (or `rudeness_score` with --threshold) and `meanness_negative`", "`continuation`"
    )
    evenhand("list", "classifiers").says("vader", "toxigen", "any Hugging Face classifier")
    evenhand("show", "vader").says("licence", "MIT")


@pytest.mark.parametrize(
    ("noun", "text", "told"),
    [
        ("Dr. Smith", "Dr. Smith said", "contains a full stop"),
        ("The cook", "So said the cook", "does not begin with it"),
    ],
)
def test_a_phrase_that_cannot_be_hidden_from_the_judge_is_refused_before_anything_is_asked(
    evenhand, tmp_path, noun, text, told
):
    rows = [("hair", "red", "The baker", "The baker said"), ("hair", "brown", noun, text)]
    pl.DataFrame(rows, schema=["axis", "group", "noun_phrase", "text"], orient="row").write_csv("mine.csv")
    ended = evenhand(
        "audit", "house/writer", "-b", "regard", "--prompts", "mine.csv", "--classifier", "vader", "-o", "new"
    )
    ended.refused(1, "prompt 2", "noun_phrase", told)
    assert not (tmp_path / "new").exists()


def test_a_reference_that_is_no_group_is_refused_before_anything_is_asked(evenhand, tmp_path):
    evenhand(*AUDIT, "--reference", "redd").refused(2, "Unknown group: 'redd'", "Did you mean 'red'")
    assert not (tmp_path / "run").exists()
