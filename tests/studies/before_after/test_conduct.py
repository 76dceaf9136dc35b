"""Before and after a mitigation: an effect that is there is found, none is invented, silence is called silence."""

import json
import random
from math import exp, log

import numpy as np
import polars as pl
import pytest

from evenhand.mitigations import Prefix
from evenhand.mitigations.contract import Mitigated
from evenhand.mitigations.loading import load_mitigation
from evenhand.models.puppets import Puppet, load_puppet, random_puppet, writes
from evenhand.runs import RunDirectory
from evenhand.schema import Card, Interrupted, ResumeRefused, Unsupported, UsageError, write_json
from evenhand.studies.audit.classifiers import named_or_loaded
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.result import audit, resume
from evenhand.studies.before_after.conduct import one_training, study_before_after, with_named_classifiers
from evenhand.studies.before_after.costs import text_perplexity_change
from evenhand.studies.before_after.harm import answered_pairs, harm_changes
from evenhand.studies.before_after.result import BeforeAfterReport, before_after, resumed_study
from evenhand.studies.chain import describe_mitigation, folder_name, list_mitigations, named_chain
from evenhand.studies.compare.texts import judged_texts, quality_changes


def drawn(prompt: str, sample: int, salt: str = "") -> float:
    """A number for the prompt behind the last line break: the same with and without an instruction."""
    return random.Random(f"{salt}{prompt.rsplit(chr(10), 1)[-1]}{sample}").random()


def talker(follows: bool = True) -> Puppet:
    """Rude to half of its neighbours; told to be kind, to a tenth; told to hush, silent four times in five."""

    def continuation(prompt: str, sample: int) -> str:
        told = prompt.rsplit("\n", 1)[0] if follows and "\n" in prompt else ""
        if "hush" in told and drawn(prompt, sample, "silent") < 0.8:
            return " "
        if "refuse" in told and drawn(prompt, sample, "silent") < 0.4:
            return " I'm sorry, but I can't help with that."
        rude = drawn(prompt, sample) < (0.1 if "kind" in told else 0.5)
        return f" is {'rude' if rude else 'kind'} to {random.Random(prompt + str(sample)).choice('abcdef')} and us all."

    return writes(continuation, "house/talker")


@pytest.fixture
def study(judged_house, tmp_path, monkeypatch):
    """study(words, ...) -> BeforeAfterReport on 24 neighbours, ten samples each, without WikiText, nothing written."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))

    def run(*chain, model=None, output=tmp_path / "study", classifiers=None, **options):
        words, links = named_chain(chain)
        judges, loaded = named_or_loaded(classifiers or {})
        given = {
            "benchmarks": ("rudeness",),
            "samples": 10,
            "mitigate": words,
            "classifiers": judges,
            **options,
        }
        config = AuditConfig(model="house/talker", **given)
        model = talker() if model is None else model
        return BeforeAfterReport(
            study_before_after(config, model=model, chain=links, output=output, loaded=loaded)
        )

    return run


@pytest.fixture
def written(judged_house, tmp_path, monkeypatch):
    """The same by the front door, with all its pages."""
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    options = {"benchmarks": ["rudeness"], "samples": 10, "output": tmp_path / "study"}
    return lambda *chain, **more: before_after(talker(), list(chain), **options, **more)


def test_a_real_effect_is_found_with_its_interval_beside_the_text(written):
    report = written("prefix=Be kind.")
    (verdict,) = report.study.verdicts
    assert verdict.kind == "fell" and report.verdicts["headline"].to_list() == ["Harm fell"]
    harm = {row["among"]: row for row in report.harm.to_dicts()}
    responses = report.before.responses("rudeness"), report.after.responses("rudeness")
    rates = [frame["continuation"].str.contains("rude").mean() for frame in responses]
    for row in harm.values():
        assert (row["before"], row["after"]) == pytest.approx(rates)
        assert row["high"] < 0 and row["q"] < 0.001 and row["verdict"] == "lower"
        assert row["before_low"] < row["before"] < row["before_high"]
    assert harm["asked"]["by_silence"] == 0
    changes = report.changes.filter(outcome="rudeness")
    assert {row["axis"] for row in changes.to_dicts()} == {None, "hair"}
    assert changes.filter(pl.col("group").is_not_null()).height == 3
    measures = set(report.quality["measure"])
    assert {"empty_rate", "refusal_rate", "repetition", "distinct_3_at_budget", "text_perplexity"} <= measures
    assert (
        "The fluency of continuations was not measured. To measure it, add --classifier perplexity=MODEL."
        in report.study.notes
    )
    assert "benchmark quality was not run" in " ".join(report.study.notes)
    content = json.loads((report.path / "before_after.json").read_text())
    assert content["verdicts"][0]["verdict"] == "fell"
    assert content["mitigations"][0]["parameters"]["text"] == "Be kind."
    assert {"harm", "silence", "quality", "cost", "changes", "measured"} <= content.keys()
    page = (report.path / "before_after.html").read_text()
    assert "default-src 'none'" in page and 'src="http' not in page
    assert (report.path / "compare.html").is_file() and (report.path / "before" / "report.html").is_file()


def test_a_model_that_ignores_instructions_is_not_said_to_have_changed(study):
    report = study("prefix=Be kind.", "prefix=And refuse.", model=talker(follows=False))
    (verdict,) = report.study.verdicts
    assert verdict.kind == "not detected"
    assert report.harm["estimate"].abs().max() == 0 and report.harm["p"].min() == 1
    rates = report.quality.filter(pl.col("p").is_not_null())
    # "Not detected" needs a minimum detectable effect, which the quality measures do not have here.
    assert set(rates["verdict"]) == {"not detected", "not measurable"} and rates["p"].min() > 0.05
    assert "No change in length, repetition or perplexity" in report.verdicts["told"][0]


def test_noise_alone_is_not_an_effect(study):
    """Every draw is new behind the instruction, as of a model that samples: 240 pairs, no effect planted."""
    noisy = writes(
        lambda prompt, sample: (
            " is rude." if random.Random(prompt + str(sample)).random() < 0.5 else " is kind."
        ),
    )
    report = study("prefix=Be kind.", model=noisy)
    assert report.harm.filter(among="asked")["estimate"].abs().min() > 0
    assert report.study.verdicts[0].kind == "not detected"
    asked = report.harm.filter(among="asked").row(0, named=True)
    assert asked["low"] < 0 < asked["high"]


def test_a_mitigation_that_wins_by_saying_nothing_is_shown_as_such(written):
    report = written("prefix=Now hush.")
    (verdict,) = report.study.verdicts
    assert verdict.kind == "silence" and verdict.silent["verdict"] == "higher"
    harm = {row["among"]: row for row in report.harm.to_dicts()}
    assert harm["asked"]["verdict"] == "lower" and harm["spoken"]["verdict"] == "not detected"
    assert harm["asked"]["by_silence"] == pytest.approx(harm["asked"]["estimate"])
    assert harm["spoken"]["before"] == harm["spoken"]["after"]
    told = report.verdicts["told"][0]
    assert "These account for" in told and "no change detected" in told
    page = (report.path / "before_after.html").read_text()
    assert "Harm fell because the model gave more empty or refused responses" in page and (
        "Groups with a change in empty or refused responses" not in page
    )
    by_group = report.study.silence.filter(pl.col("group").is_not_null())
    assert by_group.height == 3 and set(by_group["verdict"]) == {"not detected"}, "all fell as silent"
    by_axis = report.study.silence.filter(pl.col("axis").is_not_null(), measure="level_change")
    assert set(by_axis["verdict"]) == {"higher"}


def test_partly_kinder_and_partly_silent(study):
    report = study("prefix=Be kind and refuse.")
    (verdict,) = report.study.verdicts
    assert verdict.kind == "partly silence"
    asked = verdict.asked
    assert asked["estimate"] < asked["by_silence"] < 0
    refusals = report.quality.filter(measure="refusal_rate").row(0, named=True)
    assert refusals["before"] == 0 and 30 < refusals["after"] < 50 and refusals["verdict"] == "higher"


def test_a_model_that_falls_wholly_silent_leaves_nothing_to_judge(study):
    mute = writes(lambda prompt, sample: "" if "\n" in prompt else " is rude.")
    report = study("prefix=Hush.", model=mute)
    (verdict,) = report.study.verdicts
    assert verdict.kind == "silence" and verdict.spoken is None
    assert "In no pair do both responses have text" in report.verdicts["told"][0]


def test_much_shorter_answers_and_more_harm_have_their_own_words(study, tmp_path):
    long = " is kind and good and generous and patient and cheerful."
    brief = writes(
        lambda p, s: (
            f" is kind {s % 9}{p[-9:]}."
            if "\n" in p
            else (long if drawn(p, s) < 0.5 else f"{long} But rude.")
        )
    )
    report = study("prefix=Be brief.", model=brief)
    assert report.verdicts["verdict"][0] == "shorter"
    worse = writes(lambda p, s: " is rude." if "\n" in p or drawn(p, s) < 0.5 else " is kind.")
    rose = study("prefix=Be rude.", model=worse, output=tmp_path / "worse")
    assert rose.verdicts["verdict"][0] == "rose" and "rose from" in rose.verdicts["told"][0]


def test_the_chain_is_applied_in_order_and_recorded(study, judged_house, tmp_path):
    report = study("prefix=First.", Prefix("Second.", delimiter=" | "))
    manifest = report.after.directory.manifest
    assert [link.words for link in manifest.mitigations] == ["prefix=First.", "prefix"]
    assert [link.parameters["text"] for link in manifest.mitigations] == ["First.", "Second."]
    assert all(link.card["critique"] for link in manifest.mitigations)
    assert manifest.model.fingerprint["mitigations"][1]["delimiter"] == " | "
    assert report.before.directory.manifest.mitigations == []
    assert report.after.view().title == "house/talker + prefix=First. + prefix"
    seen = []
    spy = writes(lambda prompt, sample: seen.append(prompt) or " is kind.")
    audit(
        spy, benchmarks=["rudeness"], mitigate=["prefix=First.", "prefix=Second."], output=tmp_path / "spied"
    )
    assert all(prompt.startswith("First.\nSecond.\nIn case") for prompt in seen)
    same = RunDirectory.open(tmp_path / "spied").manifest.mitigations
    assert [link.words for link in same] == ["prefix=First.", "prefix=Second."]


def test_both_runs_get_the_same_prompts_and_decoding(study):
    report = study("prefix=Be kind.", temperature=0.5, seed=3)
    first, second = report.before.directory.manifest, report.after.directory.manifest
    assert first.asked == second.asked and first.prompt_sets == second.prompt_sets
    assert first.seeds == second.seeds and first.asked["rudeness"].decoding["seed"] == 3


def test_stopped_anywhere_it_goes_on_and_asks_nothing_twice(study, judged_house, tmp_path):
    calls = []

    def stopping(limit):
        def continuation(prompt, sample):
            if len(calls) >= limit:
                raise KeyboardInterrupt
            calls.append((prompt, sample))
            return talker().continuation(prompt, sample)

        return writes(continuation, "house/talker")

    for limit in (100, 300):  # during the first run, and during the second
        with pytest.raises(Interrupted) as stopped:
            study("prefix=Be kind.", model=stopping(limit))
        assert "evenhand before-after" in stopped.value.hint
    judged_house.WordJudge.stop_after = len(judged_house.WordJudge.asked) + 1
    with pytest.raises(Interrupted):  # while the second run is judged
        study("prefix=Be kind.", model=stopping(10_000))
    judged_house.WordJudge.stop_after = None
    config = resumed_study(tmp_path / "study", {"device": "cpu"})
    resumed = study_before_after(config, model=stopping(10_000), output=tmp_path / "study")
    report = BeforeAfterReport(resumed)
    whole = study("prefix=Be kind.", output=tmp_path / "whole")
    assert report.harm.equals(whole.harm) and report.quality.equals(whole.quality)
    done = len(calls)
    assert study("prefix=Be kind.", model=stopping(0)).harm.equals(whole.harm)
    assert len(calls) == done


def test_a_study_goes_on_only_with_what_it_was_started_with(study, tmp_path):
    study("prefix=Be kind.")
    with pytest.raises(ResumeRefused, match="mitigate"):
        study("prefix=Be rude.")
    with pytest.raises(ResumeRefused, match="seed"):
        study("prefix=Be kind.", seed=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(UsageError, match="is not the folder of a before/after study"):
        study("prefix=Be kind.", output=tmp_path / "other")
    with pytest.raises(UsageError, match="does not contain a before-after study"):
        resumed_study(tmp_path, {})


class NeedsLogits:
    """A mitigation that a model without next-token distributions cannot carry."""

    name, card, specification = "needs-logits", Card("needs-logits", "For tests."), None

    def specified(self, texts):
        raise Unsupported("It has no wording.")

    def parameters(self):
        return {}

    def __call__(self, model):
        raise Unsupported("This model gives no next-token distributions.", "Use a prefix.")


def test_what_cannot_be_mitigated_is_refused_before_anything_is_asked(study, tmp_path):
    asked = []
    spy = writes(lambda prompt, sample: asked.append(prompt) or " is kind.")
    with pytest.raises(Unsupported, match="no next-token distributions"):
        study(NeedsLogits(), model=spy)
    with pytest.raises(UsageError, match="mitigation"):
        study("prefixx=Be kind.", model=spy)
    with pytest.raises(UsageError, match="`before-after` requires `--mitigate`"):
        study(model=spy)
    with pytest.raises(UsageError, match="Unknown role"):
        study("prefix=Be kind.", model=spy, classifiers={"malice": "vader"})
    masked = Puppet("masked", load_puppet("random").token_log_prob, architecture="masked")
    with pytest.raises(Unsupported, match="is a masked language model and cannot follow an instruction"):
        study("prefix=Be kind.", model=masked)
    assert asked == [] and not (tmp_path / "study").exists()


def test_perplexity_under_a_judge_where_quality_is_not_run(study):
    judge = random_puppet()
    report = study("prefix=Be kind.", classifiers={"perplexity": judge})
    row = report.quality.filter(benchmark="rudeness", measure="judge_perplexity").row(0, named=True)
    frame = report.before.responses("rudeness").join(
        report.after.responses("rudeness"), on=["prompt_id", "sample"], suffix=" after"
    )
    texts = [frame[name].to_list() for name in ("continuation", "continuation after")]
    expected = []
    for side in texts:
        scored = judge.log_likelihoods(side)
        per_token = -scored.sums / scored.counts
        expected.append(exp(per_token.mean()))
    assert (row["before"], row["after"]) == pytest.approx(expected, rel=1e-5)
    assert row["estimate"] == pytest.approx(expected[1] / expected[0], rel=1e-5)
    assert "The fluency of continuations was not measured" not in " ".join(report.study.notes)


def test_quality_runs_beside_where_its_texts_are_here(study, tmp_path):
    folder = tmp_path / "wikitext"
    folder.mkdir()
    sentence = " The {} town lies on river number {} in the north of the land . It is old ."
    articles = [
        "\n".join([f" = Article {a} = ", *(sentence.format(word, a) for word in ("small", "big", "old"))])
        for a in range(6)
    ]
    (folder / "wiki.test.raw").write_text("\n".join(articles))
    report = study(
        "prefix=Be kind.", data={"wikitext": str(folder)}, classifiers={"perplexity": random_puppet()}
    )
    assert report.before.directory.benchmarks == ["quality", "rudeness"]
    assert report.before.responses("quality")["sample"].max() == 0, "samples are for what is compared"
    names = set(report.quality.filter(benchmark="quality")["measure"])
    assert {"judge_perplexity", "distinct_2_at_budget", "empty_rate"} <= names
    assert report.quality.filter(measure="text_perplexity")["benchmark"].to_list() == ["wikitext"]
    assert pl.read_parquet(report.path / "texts.parquet").height == 18
    assert [verdict.benchmark for verdict in report.study.verdicts] == ["rudeness"]


def test_likelihood_benchmarks_are_put_side_by_side(study, tmp_path):
    rows = [
        (axis, f"I met {descriptor} {noun}.", "I met X.", descriptor, noun)
        for axis, descriptors in (
            ("height", ("tall", "short", "tiny")),
            ("sleep", ("sleepy", "rested", "tired")),
        )
        for descriptor in descriptors
        for noun in ("cooks", "bakers", "pilots")
    ]
    own = tmp_path / "own.csv"
    pl.DataFrame(rows, schema=["axis", "text", "template", "descriptor", "noun"], orient="row").write_csv(own)
    report = study(
        "prefix=Be kind.",
        model=random_puppet(),
        benchmarks=("evenhand-likelihood",),
        prompts=str(own),
        samples=None,
    )
    assert report.study.verdicts == () and report.study.measured.height > 0
    assert report.study.measured["estimate_before"].equals(
        report.study.measured["estimate_after"], null_equal=True
    )
    assert "These benchmarks compare likelihoods: no text was generated or classified" in report.html()


def test_old_runs_go_on_without_the_new_options(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    manifest = run.directory.manifest
    for name in ("mitigate", "beside"):
        del manifest.arguments_resolved[name]
    run.directory.save()
    assert resume(tmp_path / "run", None, [], {}).findings.equals(run.findings)
    with pytest.raises(ResumeRefused, match="mitigate"):
        resume(tmp_path / "run", None, [], {"mitigate": ("prefix=Be kind.",)})


def test_a_mitigated_model_given_whole_is_recorded_as_such(judged_house, tmp_path):
    run = audit(Prefix("Be kind.")(talker()), benchmarks=["rudeness"], output=tmp_path / "run")
    assert [link.words for link in run.directory.manifest.mitigations] == ["prefix=Be kind."]
    assert run.view().title.endswith(" + prefix=Be kind.")


def test_words_and_folders_of_a_chain():
    for words in ("prefix=Be kind.", "instruction=respect", "instructive-debiasing"):
        assert describe_mitigation(load_mitigation(words)) == words
    assert folder_name("org/model", []) == "org/model"
    assert len(folder_name("org/model", ["prefix=" + "long words " * 40] * 9)) <= 120
    inner = load_puppet("random")
    assert list_mitigations(inner) == [] and len(list_mitigations(Mitigated(inner, Prefix("x")))) == 1


def test_judges_for_the_verb(judged_house):
    config = AuditConfig(model="m", benchmarks=("rudeness",))
    both = with_named_classifiers(config, ["house/words?word=kind", "perplexity=house/writer"])
    assert both.classifiers == {"rudeness": "house/words?word=kind", "perplexity": "house/writer"}
    assert with_named_classifiers(AuditConfig(model="m"), ["vader"]).classifiers == {"regard": "vader"}


# --- the tables themselves, against loops ---


def frames():
    """Before and after for four prompts and two samples, some silent, one failed, one not judged."""
    keys = [
        {"prompt_id": f"p{i}", "sample": s, "axis": "a", "group": f"g{i % 2}"}
        for i in range(4)
        for s in range(2)
    ]
    said = [" one two", " one two three", "", " four", " five six", " one", " no", " x y"]
    later = ["", " one two", " now", None, " five", " one", "   ", " I'm sorry, but I can't help with that."]
    judged = [1.0, 0.0, None, 1.0, 1.0, 0.0, None, 1.0]
    judged_later = [None, 0.0, 1.0, None, 0.0, 1.0, 0.0, 1.0]
    made = []
    for texts, verdicts in ((said, judged), (later, judged_later)):
        errors = pl.Series(
            "error", [None if text is not None else "model_error" for text in texts], dtype=pl.String
        )
        made.append(
            pl.DataFrame(keys).with_columns(errors, continuation=pl.Series(texts), harm=pl.Series(verdicts))
        )
    return made[0], made[1]


def test_three_ways_of_counting_harm_against_a_loop():
    before, after = frames()
    table = harm_changes("b", answered_pairs(before, after, ["harm"]), ["harm"], seed=0)
    found = {row["among"]: row for row in table.to_dicts()}

    def silent(text):
        return text is not None and (not text.strip() or "sorry" in text)

    ways = {"asked": [], "judged": [], "spoken": []}
    moved = 0.0
    for b, a in zip(before.to_dicts(), after.to_dicts(), strict=True):
        first, second = (0.0 if silent(r["continuation"]) else r["harm"] for r in (b, a))
        if None not in (first, second):
            ways["asked"].append((first, second))
            if silent(b["continuation"]) != silent(a["continuation"]):
                moved += second - first
        if None not in (b["harm"], a["harm"]):
            ways["judged"].append((b["harm"], a["harm"]))
            if not silent(b["continuation"]) and not silent(a["continuation"]):
                ways["spoken"].append((b["harm"], a["harm"]))
    for among, pairs in ways.items():
        n = len(pairs)
        assert found[among]["n"] == n
        assert found[among]["estimate"] == pytest.approx(sum(a - b for b, a in pairs) / n)
    assert found["asked"]["by_silence"] == pytest.approx(moved / len(ways["asked"]))


def test_silence_and_text_against_loops():
    before, after = frames()
    pairs = answered_pairs(before, after, ["harm"])
    both = pairs.drop_nulls(["silent", "silent after"])
    assert (both["silent"].mean(), both["silent after"].mean()) == pytest.approx((1 / 7, 3 / 7))
    table = quality_changes("b", before, after, 0)
    rows = {row["measure"]: row for row in table.to_dicts()}
    assert (rows["empty_rate"]["before"], rows["empty_rate"]["after"]) == pytest.approx((100 / 7, 200 / 7))
    assert (rows["refusal_rate"]["before"], rows["refusal_rate"]["after"]) == pytest.approx((0, 100 / 7))
    assert "own_perplexity" not in rows and "distinct_2_at_budget" not in rows, "too few words to say"


def test_perplexities_change_by_a_factor():
    texts = pl.DataFrame(
        {"cluster": list("aabb"), "tokens": [2, 4, 5, 10], "before": [-2.0, -8.0, -5.0, -10.0]}
    )
    texts = texts.with_columns(after=pl.col("before") - log(2) * pl.col("tokens"))
    row = text_perplexity_change(texts, "mine", 0).row(0, named=True)
    assert row["estimate"] == pytest.approx(2) and row["after"] == pytest.approx(2 * row["before"])
    assert row["relative"] == pytest.approx(1) and row["before"] == pytest.approx(exp((1 + 2 + 1 + 1) / 4))


@pytest.mark.parametrize(
    ("factor", "noise", "verdict"),
    [(0.8, 0.05, "lower"), (1.25, 0.05, "higher"), (1.0, 0.05, "not detected"), (0.99, 0.5, "not detected")],
)
def test_a_perplexity_is_lower_where_its_factor_is_below_one(factor, noise, verdict):
    """The change of a perplexity is a ratio: no change is 1, and a significant ratio below it is no rise."""
    dice = random.Random(3)
    deviation = [dice.gauss(0, noise) for _ in range(30)]
    even = [one - sum(deviation) / len(deviation) for one in deviation]
    texts = pl.DataFrame(
        {
            "cluster": [f"t{i}" for i in range(len(even))],
            "tokens": [10] * len(even),
            "before": [-30.0 - dice.random() for _ in even],
            "shift": [10 * (log(factor) + one) for one in even],
        }
    ).with_columns(after=pl.col("before") - pl.col("shift"))
    table = judged_texts(text_perplexity_change(texts, "mine", 0), 0.05)
    row = table.row(0, named=True)
    assert row["estimate"] == pytest.approx(factor) and row["low"] < factor < row["high"]
    assert row["verdict"] == verdict


def test_study_without_the_report_layer(judged_house, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "cache"))
    config = AuditConfig(model="house/writer", benchmarks=("rudeness",), mitigate=("prefix=Be kind.",))
    found = study_before_after(config, output=tmp_path / "study")
    assert found.verdicts[0].kind == "not detected"
    assert found.cost["measure"].to_list() == ["throughput"], "a puppet states no latency"


def test_stopped_after_the_second_run_it_says_how_to_go_on(study, monkeypatch):
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evenhand.studies.before_after.conduct.paired_tables", stopped)
        with pytest.raises(Interrupted) as interrupted:
            study("prefix=Be kind.")
    assert "evenhand before-after" in interrupted.value.hint
    assert study("prefix=Be kind.").harm.height


def test_texts_that_a_model_cannot_write_are_missing_and_nats_below_one_no_shares() -> None:
    from evenhand.studies.before_after.costs import text_perplexity_change

    generator = np.random.default_rng(0)
    tokens = np.full(30, 10)
    before = -tokens * generator.uniform(0.4, 0.6, 30)
    after = before - tokens * 0.05
    before[0], after[1], tokens[2] = -np.inf, np.nan, 0
    texts = pl.DataFrame({"cluster": np.arange(30), "tokens": tokens, "before": before, "after": after})
    row = text_perplexity_change(texts, "given", 0).row(0, named=True)
    assert (row["n"], row["n_missing"]) == (27, 3)
    assert row["estimate"] == pytest.approx(np.exp(0.05))
    # as a share the limits of 27 values around .5 would reach from .3 to .7
    assert 1.55 < row["before_low"] < row["before"] < row["before_high"] < 1.75


# --- a fall of harm that is none ---


def test_one_harmless_sentence_for_everybody_is_not_told_as_a_fall_of_harm(study):
    """A mitigation that answers every prompt alike: its sameness and its monotony stand in the headline."""

    def stock(prompt, sample):
        if "\n" in prompt:
            return " is a person like you and me."
        words = random.Random(prompt + str(sample))
        rude = drawn(prompt, sample) < 0.5
        said = " ".join(
            words.choice(["tea", "trains", "birds", "chess", "rain", "songs", "walks", "maps"])
            for _ in range(6)
        )
        return f" is {'rude' if rude else 'kind'} and likes {said}."

    report = study("prefix=Be kind.", model=writes(stock, "house/stock"))
    (verdict,) = report.study.verdicts
    assert verdict.kind == "sameness" and verdict.varied is None
    headline = report.verdicts["headline"][0]
    assert (
        "because the model now gives many prompts the same response" in headline
        and "far less varied" in headline
    )
    same = report.quality.filter(measure="same_answer_share").row(0, named=True)
    assert same["after"] == 100 and same["before"] < 10 and same["verdict"] == "higher"
    fewer = report.quality.filter(measure="distinct_2_at_budget").row(0, named=True)
    assert fewer["verdict"] == "lower" and fewer["q"] < 0.05
    assert "The same response is given to 100.0% of the prompts" in report.verdicts["told"][0]


def test_half_refusals_are_told_with_both_denominators(study):
    """A judge that finds refusals rude: harm over all answers falls, among those that were judged it rises."""

    def refusing(prompt, sample):
        refuse = "\n" in prompt and drawn(prompt, sample, "silent") < 0.5
        return (
            " I'm sorry, but I can't be rude."
            if refuse
            else talker(follows=False).continuation(prompt, sample)
        )

    report = study("prefix=Be kind.", model=writes(refusing, "house/refusing"))
    (verdict,) = report.study.verdicts
    assert verdict.kind == "silence" and verdict.disagree
    headline, told = report.verdicts["headline"][0], report.verdicts["told"][0]
    assert "over all responses; among the classified ones: higher" in headline
    assert "Over all responses it fell from" in told and "Among the classified responses" in told
    assert "of the classified responses" in report.html()


def test_a_mitigation_that_spares_all_but_one_group_says_so_first(study):
    """Harm falls for two of three groups: the first sentence is about the third."""

    def unequal(prompt, sample):
        spared = "\n" in prompt and "red-" not in prompt.rsplit("\n", 1)[-1]
        rude = drawn(prompt, sample) < (0.05 if spared else 0.6)
        return f" is {'rude' if rude else 'kind'} and {random.Random(prompt + str(sample)).random():.4f}."

    report = study("prefix=Be kind.", model=writes(unequal, "house/unequal"))
    row = report.verdicts.row(0, named=True)
    assert row["verdict"] == "fell"
    changed = report.changes.filter(outcome="rudeness", measure="group_difference_change", direction="worse")
    assert changed.height == 1 and "red" in changed["group"][0]
    # its own rate changes by chance only, so the sentence must not say that it improved like the others
    relative = ("got worse for", "improved less than the other groups", "while the other groups improved")
    assert changed["group"][0] in row["groups"] and any(words in row["groups"] for words in relative)


def test_a_folder_that_evenhand_trained_has_limits_of_one_training(tmp_path):
    write_json(tmp_path / "lineage.json", {"seed": 7})
    (note,) = one_training(["evenhand/reference", tmp_path, None, object()])
    assert "trained once, with seed 7" in note and "sentences of this one" in note
    assert one_training(["gpt2", None]) == []
