"""An audit of continuations: asked, judged, measured; and gone on with wherever it stopped."""

import json

import numpy as np
import polars as pl
import pytest

from evenhand.models.puppets import load_puppet, random_puppet, writes
from evenhand.runs import RunDirectory
from evenhand.schema import Interrupted, ModelError, ResumeRefused, Unsupported, UsageError
from evenhand.studies.audit.classifiers import named_by_role
from evenhand.studies.audit.conduct import conduct_audit, preview
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.result import audit, resume, run_audit
from evenhand.studies.audit.selection import select, with_classifiers


def config(**options) -> AuditConfig:
    return AuditConfig(model="house/writer", **{"benchmarks": ("rudeness",), **options})


def rates(measurements: pl.DataFrame, benchmark: str = "rudeness") -> dict:
    return dict(measurements.filter(benchmark=benchmark).select("group", "estimate").rows())


def test_who_writes_rudely_about_whom_comes_out_with_its_verdict(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    assert rates(run.measurements) == {"red": 1.0, "brown": 0.0, "black": 0.0}
    assert run.findings.filter(group="red")["verdict"].to_list() == ["biased"]
    responses = run.responses("rudeness")
    assert responses.height == 48 and set(responses["sample"]) == {0, 1}
    for row in responses.rows(named=True):
        assert row["continuation"] == judged_house.said(row["text"], row["sample"])
        assert row["rudeness_negative"] == ("rude" in row["continuation"])
        assert row["rudeness_score"] == (0.9 if "rude" in row["continuation"] else 0.1)
        assert row["rudeness_error"] is row["error"] is None
    assert run.details("rudeness")["rows"].equals(responses.select(run.details("rudeness")["rows"].columns))


def test_identical_continuations_are_judged_once_whatever_they_follow(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    assert sorted(judged_house.WordJudge.asked) == sorted(judged_house.SAID)
    assert (run.labelled.texts, run.labelled.judged) == (4, 4)


def test_each_role_judges_its_own_part_of_the_text(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["two-roles"], output=tmp_path / "run")
    asked = set(judged_house.WordJudge.asked)
    assert "In case 0 my XYZ neighbour is rude to us." in asked, (
        "hidden noun, first sentence, behind its prompt"
    )
    assert " is fine. Really." in asked, "the continuation alone"
    responses = run.responses("two-roles")
    assert (responses["meanness_negative"] == responses["continuation"].str.contains("mean")).all()


def test_several_benchmarks_of_a_suite_and_what_is_left_out(judged_house, tmp_path):
    run = audit("house/writer", suite="neighbours", output=tmp_path / "run")
    assert run.directory.benchmarks == ["rudeness", "two-roles"]
    assert set(run.left_out) == {"evenhand-pll", "no-judge"}
    told = run.left_out["no-judge"]
    assert "The weights of this classifier are not here. Download them" in told.replace("\n", " ")
    assert "--classifier malice=NAME" in told
    assert run.outcome.requests == 24, "both benchmarks ask the same"
    assert rates(run.measurements, "two-roles") == rates(run.measurements)


def test_a_benchmark_named_by_the_user_needs_its_classifier_before_anything_is_asked(judged_house, tmp_path):
    with pytest.raises(ModelError, match=r"'house/words\?word=absent' .role malice, benchmark no-judge"):
        conduct_audit(config(benchmarks=("no-judge",)), judged_house.writer(), output=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    run = audit(
        "house/writer",
        benchmarks=["no-judge"],
        classifiers={"malice": "house/words?word=mean"},
        output=tmp_path / "run",
    )
    assert 0 < rates(run.measurements, "no-judge")["brown"] < 1


def test_a_classifier_named_by_the_user_is_never_left_out_of_a_suite(judged_house):
    with pytest.raises(ModelError, match="To use another one: --classifier"):
        select(config(benchmarks=(), suite="neighbours", classifiers={"rudeness": "house/words?word=absent"}),
               judged_house.writer())  # fmt: skip
    with pytest.raises(UsageError, match=r"Unknown classifier: 'vadre'. Did you mean 'vader'"):
        select(config(classifiers={"rudeness": "vadre"}), judged_house.writer())


def test_a_classifier_that_is_loaded_already_needs_no_name(judged_house, tmp_path):
    mine = judged_house.WordJudge("kind")
    run = audit(
        "house/writer", benchmarks=["rudeness"], classifiers={"rudeness": mine}, output=tmp_path / "run"
    )
    assert rates(run.measurements)["red"] == 0.0 < rates(run.measurements)["black"]
    assert run.directory.manifest.arguments_resolved["classifiers"] == {"rudeness": "words/kind"}


@pytest.mark.parametrize(
    ("named", "benchmarks", "expected"),
    [
        (["vader"], ("rudeness",), {"rudeness": "vader"}),
        (["rudeness=a/b", "meanness=scores:x.csv?column=y"], ("two-roles",),
         {"rudeness": "a/b", "meanness": "scores:x.csv?column=y"}),
        (["scores:x.csv?column=y"], ("rudeness",), {"rudeness": "scores:x.csv?column=y"}),
        (["rudeness=a", "rudeness=a"], ("two-roles",), {"rudeness": "a"}),
    ],
)  # fmt: skip
def test_how_classifiers_are_named(judged_house, named, benchmarks, expected):
    assert with_classifiers(config(benchmarks=benchmarks), named).classifiers == expected


def test_two_classifiers_for_one_role_are_refused(judged_house):
    with pytest.raises(UsageError, match="Two classifiers were given for the role rudeness: a and b"):
        with_classifiers(config(benchmarks=("two-roles",)), ["rudeness=a", "rudeness=b"])


@pytest.mark.parametrize(
    ("named", "benchmarks", "told"),
    [
        ("vader", ("two-roles",), "the role is missing. This benchmark has several: rudeness, meanness"),
        ("rudness=vader", ("two-roles",), "Unknown role: 'rudness'. Did you mean 'rudeness'"),
        ("toxicity=vader", ("rudeness",), "Unknown role: 'toxicity'"),
        ("rudeness=", ("rudeness",), "the classifier is missing"),
        (
            "vader",
            ("evenhand-likelihood",),
            "has no effect here: evenhand-likelihood does not use a classifier",
        ),
    ],
)
def test_classifiers_named_wrongly(judged_house, named, benchmarks, told):
    with pytest.raises(UsageError, match=told) as caught:
        with_classifiers(config(benchmarks=benchmarks), [named])
    assert caught.value.hint
    assert named_by_role([], []) == {}


def test_models_that_cannot_write_are_unsuited(judged_house):
    scorer = type("Scorer", (), dict(vars(random_puppet()), **{"architecture": "causal"}))
    scorer.fingerprint, scorer.describe, scorer.log_likelihoods = {"name": "scorer"}, dict, None
    with pytest.raises(Unsupported, match="scorer only scores texts and cannot generate text"):
        select(config(), scorer())
    with pytest.raises(Unsupported, match="has no texts to generate"):
        select(config(), load_puppet("uniform"))


def test_what_fails_to_be_judged_is_counted_and_never_a_zero(judged_house, tmp_path):
    options = config(classifiers={"rudeness": "house/words?unsure=yes"}, error_threshold=0.1)
    result = conduct_audit(options, judged_house.writer(), output=tmp_path / "run")
    assert result.labelled.errors == {"unsupported_language": 1}
    rows = RunDirectory.open(tmp_path / "run").measurements()
    said = [judged_house.said(f"In case {i} my black-haired", s) for i in range(8) for s in (0, 1)]
    assert rows.filter(group="black")["n_missing"].to_list() == [said.count(" is mean.")]
    run = run_audit(options, model=judged_house.writer(), output=tmp_path / "run")
    assert run.above_threshold() == "25.0% of the texts could not be classified"


def test_a_model_that_mostly_writes_nothing_is_no_good_run_and_the_reason_says_so(tmp_path):
    silent = writes(lambda prompt, sample: f" is kind; {prompt}" if sample == 0 else "", "puppet/silent")
    (tmp_path / "mine.csv").write_text(
        "text\n" + "".join(f"Her mother in case {i} said that she\n" for i in range(30))
    )
    options = AuditConfig(
        model="puppet/silent", prompts=str(tmp_path / "mine.csv"), counterfactual=("gender",), samples=4
    )
    run = run_audit(options, model=silent, output=tmp_path / "run")
    assert run.above_threshold() == (
        "75.0% of the responses to counterfactual are not classified (empty texts count)"
    )
    notes = " ".join(run.findings["note"].drop_nulls())
    assert "because the model wrote nothing (empty text). Ask it for longer answers" in notes


def test_a_preview_counts_what_would_be_written_and_judged(judged_house, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facts = preview(config(benchmarks=("two-roles",), samples=5), judged_house.writer())
    assert facts["continuations"]["two-roles"]["continuations"] == 24 * 5
    assert "LLaMa and OPT" in facts["continuations"]["two-roles"]["why"]
    assert [(j["role"], j["classifier"], j["texts"]) for j in facts["judges"]] == [
        ("rudeness", "house/words", 120),
        ("meanness", "house/words?word=mean", 120),
    ]
    assert facts["tokens"] > 0 and judged_house.WordJudge.asked == [] and not list(tmp_path.iterdir())


def test_decoding_and_its_reason_are_in_the_manifest_and_the_view(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["rudeness"], samples=3, top_k=5, output=tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["asked"]["rudeness"]["decoding"]["top_k"] == 5
    note = run.view().model["decoding"]["rudeness"]
    assert note.startswith("temperature 1.0, top-k 5, top-p 0.9, up to 20 tokens, 3 samples a prompt (")
    assert f"Decoding: rudeness: {note}" in manifest["sessions"][0]["notes"]
    assert manifest["arguments_given"]["samples"] == 3


def test_stopped_while_judging_it_goes_on_there(judged_house, tmp_path):
    whole = conduct_audit(
        config(benchmarks=("two-roles",)), judged_house.writer(), output=tmp_path / "whole"
    ).directory
    judged_house.WordJudge.asked.clear()
    judged_house.WordJudge.stop_after = 6  # the first role is done, the second half done
    with pytest.raises(Interrupted, match="All results so far are saved"):
        conduct_audit(config(benchmarks=("two-roles",)), judged_house.writer(), output=tmp_path / "run")
    judged_house.WordJudge.stop_after, before = None, len(judged_house.WordJudge.asked)
    assert before == 6
    run = resume(tmp_path / "run", None, [], {})
    assert run.outcome.answered == 0, "no continuation is written again"
    assert judged_house.WordJudge.asked.count(" is rude to us.") == 1, (
        "no text of the first role is judged again"
    )
    assert run.measurements.equals(whole.measurements()) and run.findings.equals(whole.findings())
    assert run.responses("two-roles").equals(run_audit(
        config(benchmarks=("two-roles",)), output=tmp_path / "whole").responses("two-roles"))  # fmt: skip


def test_other_classifiers_on_resume_are_refused_with_the_way_to_have_them(judged_house, tmp_path):
    conduct_audit(config(), judged_house.writer(), output=tmp_path / "run")
    with pytest.raises(ResumeRefused, match="is classified with the published classifiers, but") as caught:
        conduct_audit(
            config(classifiers={"rudeness": "vader"}), judged_house.writer(), output=tmp_path / "run"
        )
    assert "evenhand rescore" in caught.value.hint
    with pytest.raises(ResumeRefused, match="rudeness=vader was requested"):
        resume(tmp_path / "run", None, [], {}, classifiers=["vader"])
    with pytest.raises(ResumeRefused, match=r"samples: stored null, given now 9"):
        resume(tmp_path / "run", None, ["samples=9"], {})
    with pytest.raises(ResumeRefused, match=r"classifiers.rudeness: .*\n  seed: stored 0, given now 4"):
        conduct_audit(
            config(classifiers={"rudeness": "vader"}, seed=4), judged_house.writer(), output=tmp_path / "run"
        )


def test_vader_judges_real_sentences(judged_house, tmp_path):
    run = audit(
        "house/writer", benchmarks=["rudeness"], classifiers={"rudeness": "vader"}, output=tmp_path / "run"
    )
    said = run.responses("rudeness")
    verdicts = dict(said.select("continuation", "rudeness_negative").unique().rows())
    assert verdicts[" is rude to us."] is True
    assert verdicts[" is kind to us."] is False


def test_a_language_model_judges_once_it_is_named(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["fluency"], output=tmp_path / "run")
    assert "perplexity_score" not in run.responses("fluency").columns
    note = "Not classified: perplexity in fluency: add a language model, --classifier perplexity=MODEL"
    assert note in run.directory.manifest.sessions[0].notes
    again = run.rescore({"perplexity": "puppet/uniform"})
    scores = again.responses("fluency")["perplexity_score"]
    assert scores.to_list() == pytest.approx([float(np.exp(2))] * 48), "two nats a word, whatever the word"
    loaded = again.rescore({"perplexity": random_puppet(3)})
    assert loaded.responses("fluency")["perplexity_score"].n_unique() == 4
    named = audit("house/writer", benchmarks=["fluency"], classifiers={"perplexity": "puppet/uniform"},
                  output=tmp_path / "named")  # fmt: skip
    assert named.responses("fluency")["perplexity_score"].equals(scores)


def test_a_missing_classifier_lists_those_that_work_offline(judged_house):
    with pytest.raises(ModelError) as refused:
        select(config(benchmarks=("no-judge", "rudeness"), classifiers={"rudeness": "house/words?word=absent"}),
               judged_house.writer())  # fmt: skip
    hint = refused.value.hint or ""
    assert hint.index("evenhand/lexicon-toxicity: ") < hint.index("vader: ")
    flags = refused.value.flags
    assert flags[::2] == ("--classifier",) * 2
    assert {flag.partition("=")[0] for flag in flags[1::2]} == {"malice", "rudeness"}
    assert "house/words?word=absent" in refused.value.replaced
