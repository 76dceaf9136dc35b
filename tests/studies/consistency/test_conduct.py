"""The consistency check on methods whose conduct is known: verdicts, levels, resume, attributes, wrong input."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

from evenhand.classifiers.contract import Labels
from evenhand.measures.changes.consistency_verdicts import Outcome
from evenhand.mitigations.contract import Mitigated, Specification
from evenhand.mitigations.loading import load_mitigation
from evenhand.mitigations.prompting.prefix import Prefix
from evenhand.models.puppets import load_puppet, writes
from evenhand.runs import RunDirectory
from evenhand.schema import (
    Card,
    DataError,
    Interrupted,
    ResponseError,
    ResumeRefused,
    Unsupported,
    UsageError,
)
from evenhand.studies.consistency.levels import LENGTHS, WordingFrame, build_levels, find_frame, nonsense
from evenhand.studies.consistency.options import CheckOptions
from evenhand.studies.consistency.record import begin
from evenhand.studies.consistency.result import Checked, check_consistency
from evenhand.studies.consistency.wording import sentence

METHOD = Prefix("Be kind.", levels=(("opposite", ("Be cruel.",)),))
SELF_DEBIASING = Specification(
    (
        "The following text contains rude, disrespectful, or unreasonable language:",
        "The following text contains a threat:",
    ),
    {
        "opposite": ("The following text contains polite language:", "The following text contains help:"),
    },
)


def luck(prompt: str) -> float:
    """Between 0 and 1, a matter of the prompt's own words: what changes from level to level is the method's doing."""
    own = prompt.rsplit("\n", 1)[-1]
    return int.from_bytes(hashlib.blake2b(own.encode(), digest_size=4).digest(), "little") / 2**32


def model_with(shares, name="house/model", neutral=1.0):
    """A model whose harm is planted: shares by what stands in front of the prompt (kind, cruel, other, None)."""

    def said(prompt, sample):
        front = prompt.rsplit("\n", 1)[0] if "\n" in prompt else None
        told = next(
            (word for word in ("kind", "cruel") if front and word in front), "other" if front else None
        )
        share = shares[told] * (neutral if "calm" in prompt else 1.0)
        return " you fool" if luck(prompt) < share else " my friend"

    return writes(said, name)


OBEYS = {None: 0.4, "kind": 0.1, "cruel": 0.7, "other": 0.4}
CALMS_ALWAYS = {None: 0.4, "kind": 0.1, "cruel": 0.15, "other": 0.4}
HEARS_NOTHING = {None: 0.4, "kind": 0.1, "cruel": 0.7, "other": 0.02}


class Finder:
    """Finds the word fool; one score. Counts what it is asked; stops as if by Ctrl-C after `stop_after` texts."""

    labels = ("harmless", "harmful")
    reads_context = False

    def __init__(self, stop_after=None):
        self.asked, self.stop_after = [], stop_after

    @property
    def fingerprint(self):
        return {"name": "finder", "threshold": 0.5}

    def describe(self):
        return {"name": "finder", "licence": "none"}

    def scores_of(self, texts):
        found = np.array(["fool" in text for text in texts])
        score = np.where(found, 0.9, 0.1)
        return np.stack([1 - score, score], axis=1), score, found.tolist()

    def classify(self, texts, contexts=None):
        if self.stop_after is not None and len(self.asked) + len(texts) > self.stop_after:
            raise KeyboardInterrupt
        self.asked += texts
        scores, score, negative = self.scores_of(texts)
        return Labels(scores.astype(np.float32), [None] * len(texts), score, negative, [None] * len(texts))


class Six(Finder):
    """The labels of Detoxify, each a fixed share of the found word's score."""

    labels = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
    weights = np.array([1.0, 0.4, 0.8, 0.1, 0.9, 0.2])

    @property
    def fingerprint(self):
        return {"name": "six"}

    def scores_of(self, texts):
        _, score, negative = super().scores_of(texts)
        return np.outer(score, self.weights), score, negative


@dataclass(frozen=True)
class Trigger:
    """A method without wording: some characters in front."""

    name: str = "trigger"
    card: Card = field(default_factory=lambda: Card("trigger", "Characters in front."))
    specification: None = None

    def specified(self, texts):
        raise Unsupported("A trigger has no wording.")

    def parameters(self):
        return {"text": "zoning tapping"}

    def __call__(self, model):
        trigger = self

        class Triggered(Mitigated):
            def __init__(self):
                super().__init__(model, trigger)

            def generate(self, prompts, decoding):
                return self.model.generate([f"zoning tapping\n{prompt}" for prompt in prompts], decoding)

        return Triggered()


@pytest.fixture(scope="module")
def prompts(tmp_path_factory):
    """prompts(n) -> the file of n adversarial prompts; prompts(n, "calm") of neutral ones."""
    folder = tmp_path_factory.mktemp("prompts")

    def file(n, kind="wild"):
        path = folder / f"{kind}{n}.csv"
        if not path.exists():
            rows = [{"prompt_id": f"{kind}-{i}", "text": f"A {kind} case {i}:"} for i in range(n)]
            pl.DataFrame(rows).write_csv(path)
        return path

    return file


@pytest.fixture(autouse=True)
def pages_on_demand(request, monkeypatch):
    """Pages take as long as a small study: they are written where a test reads them."""
    if "reads_pages" not in request.fixturenames:
        monkeypatch.setattr(Checked, "report", lambda checked: checked.path)


@pytest.fixture
def reads_pages():
    """Asked for by tests that read what is written."""


def outcomes(checked, rule="tested"):
    return {(one.test, one.domain): str(one.outcome) for one in checked.study.checklists[rule]}


@pytest.fixture(scope="module")
def consistent(prompts, tmp_path_factory):
    """The obedient method, both domains, checked once for many tests."""
    return check_consistency(
        METHOD,
        model_with(OBEYS, neutral=0.5),
        prompts=prompts(150),
        neutral=prompts(200, "calm"),
        classifier=Finder(),
        groups=2,
        output=tmp_path_factory.mktemp("study") / "obeys",
    )


def test_a_method_that_does_what_it_says_passes_everything_under_every_rule(consistent):
    for rule in ("tested", "strict", "paper"):
        assert set(outcomes(consistent, rule).values()) == {"passes"}, rule
    assert len(consistent.decisions) == 7  # effect, polarity, importance twice, transfer once


def test_rates_are_those_that_were_planted(consistent):
    expected = {
        level: 100 * np.mean([luck(f"A wild case {i}:") < share for i in range(150)])
        for level, share in {
            "default": 0.4, "original": 0.1, "opposite": 0.7, "nonsensical": 0.4, "blank": 0.4
        }.items()
    }  # fmt: skip
    rows = consistent.table.filter(
        (pl.col("domain") == "adversarial") & pl.col("attribute").is_null()
    ).to_dicts()
    assert {row["level"]: row["percent"] for row in rows} == pytest.approx(expected)
    original = next(row for row in rows if row["level"] == "original")
    assert original["relative_change"] == pytest.approx(
        100 * (expected["default"] - expected["original"]) / expected["default"]
    )
    assert consistent.nonsense["group"].unique().sort().to_list() == [1, 2]


@pytest.mark.parametrize(
    ("shares", "polarity", "importance"),
    [(CALMS_ALWAYS, "fails", "passes"), (HEARS_NOTHING, "passes", "fails")],
    ids=["fails polarity", "fails importance"],
)
def test_methods_built_to_fail_one_test_fail_that_one(shares, polarity, importance, prompts, tmp_path):
    checked = check_consistency(
        METHOD,
        model_with(shares),
        prompts=prompts(150),
        neutral=prompts(200, "calm"),
        classifier=Finder(),
        groups=1,
        output=tmp_path / "study",
    )
    found = outcomes(checked)
    for domain in ("adversarial", "neutral"):
        assert found["effect", domain] == "passes"
        assert (found["polarity", domain], found["importance", domain]) == (polarity, importance)
    assert found["transfer", None] == "not applicable"


def test_a_method_that_stops_working_on_neutral_prompts_does_not_transfer(prompts, tmp_path):
    model = model_with(OBEYS)
    told = model.continuation
    only_wild = writes(
        lambda p, s: told(p, s) if "wild" in p else told(p.rsplit("\n")[-1], s), "house/only-wild"
    )
    options = {"prompts": prompts(150), "neutral": prompts(400, "calm"), "classifier": Finder(), "groups": 1}
    checked = check_consistency(METHOD, only_wild, output=tmp_path / "study", margin=3.0, **options)
    found = outcomes(checked)
    assert (found["polarity", "adversarial"], found["polarity", "neutral"]) == ("passes", "not applicable")
    assert (found["effect", "neutral"], found["transfer", None]) == ("fails", "fails")


def test_a_method_without_wording_is_told_which_tests_do_not_apply_and_why(prompts, tmp_path):
    options = {"prompts": prompts(150), "neutral": prompts(200, "calm"), "classifier": Finder()}
    checked = check_consistency(
        Trigger(), model_with({None: 0.5, "other": 0.1}), output=tmp_path / "study", **options
    )
    found = {(one.test, one.domain): one for one in checked.decisions}
    for test in ("polarity", "importance"):
        assert found[test, "adversarial"].outcome == Outcome.NOT_APPLICABLE
        assert "no wording" in found[test, "adversarial"].reason
    assert found["effect", "neutral"].outcome == found["transfer", None].outcome == Outcome.PASS
    assert "the effect itself" in found["transfer", None].reason
    assert {path.name for path in (checked.path / "levels").iterdir()} == {
        "adversarial-default", "adversarial-original", "neutral-default", "neutral-original"
    }  # fmt: skip
    with pytest.raises(UsageError, match="no wording"):
        check_consistency(Trigger(), model_with(OBEYS), opposite="Be bad.", **options)


def test_too_few_prompts_decide_nothing_and_the_number_that_is_advised_does(prompts, tmp_path):
    weak = model_with({None: 0.4, "kind": 0.34, "cruel": 0.6, "other": 0.4})
    options = {"neutral": "none", "classifier": Finder(), "groups": 1}
    few = check_consistency(METHOD, weak, prompts=prompts(24), output=tmp_path / "few", **options)
    one = next(one for one in few.decisions if one.test == "effect")
    assert one.outcome == Outcome.UNDECIDED and 24 < one.advice.prompts < 600
    assert few.findings.filter(rule="tested", test="effect")["advised_prompts"].item() == one.advice.prompts
    assert "undecided: effect needs more data" in sentence(few.decisions).lower()
    enough = check_consistency(METHOD, weak, prompts=prompts(600), output=tmp_path / "many", **options)
    assert (
        outcomes(enough)["effect", "adversarial"] == outcomes(enough)["polarity", "adversarial"] == "passes"
    )
    transfer = next(one for one in enough.decisions if one.test == "transfer")
    assert transfer.outcome == Outcome.NOT_APPLICABLE and transfer.reason == "only one domain was tested"


def test_nonsense_is_put_to_some_prompts_and_compared_on_these(prompts, tmp_path):
    options = {"prompts": prompts(150), "neutral": "none", "classifier": Finder(), "groups": 4}
    checked = check_consistency(
        METHOD, model_with(OBEYS), output=tmp_path / "study", nonsense_prompts=40, **options
    )
    rows = {row["level"]: row for row in checked.table.filter(pl.col("attribute").is_null()).to_dicts()}
    assert [rows[level]["n"] for level in ("default", "original", "nonsensical")] == [150, 150, 40]
    assert {row["n_missing"] for row in rows.values()} == {0}
    assert rows["nonsensical"]["change"] == 0  # as without the method, on the very same prompts
    boundary = checked.boundaries.filter(level="nonsensical").row(0, named=True)
    assert (boundary["n_prompts"], boundary["n_wordings"], boundary["share"]) == (40, 4, 0)
    assert boundary["share_low"] < 0 < boundary["share_high"] < 0.5  # equal on 40 prompts is not equal
    assert any("40 of the 150 adversarial prompts" in note for note in checked.study.notes)
    # the rules on point estimates compare like with like
    strict = [one for one in checked.study.checklists["strict"] if one.test == "importance"]
    default = rows["default"]["percent"]
    assert f"nonsensical {default:.3g} %" in strict[0].reason


def test_a_study_from_before_wordings_were_a_sample_goes_on_as_it_was_begun(prompts, tmp_path):
    options = {
        "prompts": prompts(60),
        "neutral": "none",
        "classifier": Finder(),
        "output": tmp_path / "study",
    }
    first = check_consistency(METHOD, model_with(OBEYS), groups=5, nonsense_prompts=60, **options)
    record = tmp_path / "study" / "study.json"
    content = json.loads(record.read_text())
    del content["options"]["nonsense_prompts"], content["options"]["importance"]
    record.write_text(json.dumps(content))
    asked = []
    quiet = model_with(OBEYS)
    counting = writes(lambda p, s: asked.append(p) or quiet.continuation(p, s), "house/model")
    again = check_consistency(METHOD, counting, **options)
    assert asked == [] and len(again.study.levels.named("nonsensical")) == 5
    assert_frame_equal(again.table, first.table)
    stored = CheckOptions.resume(tmp_path / "study", {})
    assert (stored.groups, stored.nonsense_prompts) == (5, None)
    with pytest.raises(ResumeRefused, match="nonsense_prompts: stored"):
        check_consistency(METHOD, counting, nonsense_prompts=30, **options)


def test_going_on_keeps_what_was_given_in_the_beginning(prompts, tmp_path):
    options = {"prompts": prompts(20), "neutral": "none", "classifier": Finder(), "groups": 1}
    study = check_consistency(METHOD, model_with(OBEYS), output=tmp_path / "study", **options).study
    for told in ({"limit": 20}, {}, {"margin": 2.0}):
        begin(study.path, study.options, study.levels, told)
    stored = json.loads((study.path / "study.json").read_text())["given"]
    assert (stored["groups"], stored["limit"], stored["margin"]) == (1, 20, 2.0)


def test_importance_can_be_asked_in_points(prompts, tmp_path):
    half = model_with(OBEYS | {"other": 0.28})
    options = {"prompts": prompts(600), "neutral": "none", "classifier": Finder(), "groups": 1}
    options |= {"output": tmp_path / "study"}
    assert outcomes(check_consistency(METHOD, half, **options))["importance", "adversarial"] == "passes"
    in_points = check_consistency(METHOD, half, importance="points", margin=30.0, **options)
    one = next(one for one in in_points.decisions if one.test == "importance")
    assert one.outcome == Outcome.NOT_APPLICABLE or one.outcome == Outcome.FAIL
    small = check_consistency(METHOD, half, importance="points", margin=5.0, **options)
    one = next(one for one in small.decisions if one.test == "importance")
    assert one.outcome == Outcome.PASS and "more harm than the words" in one.reason


def test_where_next_to_nothing_is_harmful_nothing_fails_for_not_being_lowered(prompts, tmp_path):
    """A method that does all it can on neutral prompts: by itself the model harms nobody, told the opposite it does."""
    wild, calm = model_with(OBEYS), model_with(OBEYS | {None: 0.0, "kind": 0.0, "other": 0.0})
    both = writes(lambda p, s: (calm if "calm" in p else wild).continuation(p, s), "house/floor")
    options = {"prompts": prompts(150), "neutral": prompts(150, "calm"), "classifier": Finder(), "groups": 1}
    checked = check_consistency(METHOD, both, output=tmp_path / "study", **options)
    found = {(one.test, one.domain): one for one in checked.decisions}
    assert found["effect", "neutral"].outcome == Outcome.UNDECIDED  # 150 prompts leave room for 2 %
    assert found["effect", "neutral"].advice.prompts > 150
    for test in ("polarity", "importance"):
        assert found[test, "adversarial"].outcome == Outcome.PASS
        assert found[test, "neutral"].outcome == Outcome.NOT_APPLICABLE
    assert found["transfer", None].outcome == Outcome.UNDECIDED


def test_a_method_that_raises_harm_fails_however_little_there_was(prompts, tmp_path):
    model = model_with({None: 0.0, "kind": 0.2, "cruel": 0.5, "other": 0.0})
    options = {"prompts": prompts(150), "neutral": "none", "groups": 1, "classifier": Finder()}
    checked = check_consistency(METHOD, model, output=tmp_path / "study", **options)
    found = {one.test: one for one in checked.decisions}
    assert found["effect"].outcome == Outcome.FAIL and "it raises harm" in found["effect"].reason
    assert found["polarity"].outcome == found["importance"].outcome == Outcome.NOT_APPLICABLE
    assert sentence(checked.decisions).startswith("Not effective: on adversarial prompts, harm rises by ")


def test_where_nothing_could_be_lowered_nothing_could_carry_over(prompts, tmp_path):
    model = model_with(OBEYS, neutral=0.0)
    options = {"prompts": prompts(100), "neutral": prompts(500, "calm"), "classifier": Finder(), "groups": 1}
    checked = check_consistency(METHOD, model, output=tmp_path / "study", **options)
    found = outcomes(checked)
    assert {found[test, "neutral"] for test in ("effect", "polarity", "importance")} == {"not applicable"}
    assert found["transfer", None] == "not applicable"


def test_stopping_loses_nothing_and_nothing_is_asked_twice(prompts, tmp_path):
    written = []
    quiet = model_with(OBEYS)

    def counted(prompt, sample):
        if len(written) == 130:
            written.append(None)  # once only
            raise KeyboardInterrupt
        written.append(prompt)
        return f"{quiet.continuation(prompt, sample)} {len(prompt)}"

    options = {"prompts": prompts(50), "neutral": "none", "groups": 1, "output": tmp_path / "study"}
    first = Finder()
    with pytest.raises(Interrupted) as stop:
        check_consistency(METHOD, writes(counted, "house/model"), classifier=first, **options)
    assert stop.value.exit_code == 130
    assert stop.value.hint == f"Resume with: evenhand check-consistency {tmp_path / 'study'}"
    before = list(written)
    second = Finder()
    checked = check_consistency(METHOD, writes(counted, "house/model"), classifier=second, **options)
    again = set(before) & set(written[len(before) :]) - {None}
    assert len(again) <= 32  # of the shard that was in flight
    assert checked.scores.height == 5 * 50 and checked.scores["error"].null_count() == 5 * 50
    third = Finder()
    total = len(written)
    repeated = check_consistency(METHOD, writes(counted, "house/model"), classifier=third, **options)
    assert len(written) == total and third.asked == []
    assert_frame_equal(repeated.table, checked.table)
    asked = repeated.to_dict()["asked"]
    assert asked["sessions"] == 3 and asked["requests"] == 5 * 50 and asked["tokens"] > 0


def test_a_stop_while_judging_goes_on_with_what_is_not_judged(prompts, tmp_path):
    """Continuations that the model wrote are not written again."""
    options = {"prompts": prompts(40), "neutral": "none", "groups": 1, "output": tmp_path / "study"}
    with pytest.raises(Interrupted):
        check_consistency(METHOD, model_with(OBEYS), classifier=Finder(stop_after=3), **options)
    checked = check_consistency(METHOD, model_with(OBEYS), classifier=Finder(), **options)
    assert checked.scores.height == 200
    assert (
        RunDirectory.open(checked.path / "levels" / "adversarial-default").manifest.sessions[-1].tokens == 0
    )


def test_what_decides_the_questions_must_stay_and_the_rest_may_change(prompts, tmp_path):
    options = {"prompts": prompts(30), "neutral": "none", "groups": 1, "output": tmp_path / "study"}
    asked = []
    quiet = model_with(OBEYS)
    model = writes(lambda p, s: asked.append(p) or quiet.continuation(p, s), "house/model")
    check_consistency(METHOD, model, classifier=Finder(), **options)
    many = len(asked)
    again = check_consistency(METHOD, model, classifier=Six(), rule="paper", margin=2.0, **options)
    assert len(asked) == many and len(again.study.attributes.names) == 6
    assert len(again.decisions) == 4 and again.study.options.rule == "paper"
    with pytest.raises(ResumeRefused, match="seed: stored 0, given now 1"):
        check_consistency(METHOD, model, classifier=Finder(), seed=1, **options)
    with pytest.raises(ResumeRefused, match="model"):
        check_consistency(METHOD, replace(model, name="house/other"), classifier=Finder(), **options)


def test_six_attributes_are_mapped_openly_and_each_has_its_column(prompts, tmp_path, reads_pages):
    checked = check_consistency(
        METHOD,
        model_with(OBEYS),
        prompts=prompts(60),
        neutral="none",
        classifier=Six(),
        groups=1,
        output=tmp_path / "study",
    )
    names = ("toxicity", "severe_toxicity", "threat", "profanity", "identity_attack", "insult")
    assert checked.study.attributes.names == names
    rows = {row["attribute"]: row for row in checked.table.filter(pl.col("level") == "default").to_dicts()}
    harmful = 100 * np.mean([luck(f"A wild case {i}:") < 0.4 for i in range(60)])
    # 0.9 times the weight reaches 0.5 for toxic, obscene and insult
    shares = {
        "toxicity": 1,
        "severe_toxicity": 0,
        "threat": 0,
        "profanity": 1,
        "identity_attack": 0,
        "insult": 1,
    }
    assert {name: rows[name]["percent"] for name in names} == pytest.approx(
        {name: share * harmful for name, share in shares.items()}
    )
    assert rows[None]["percent"] == pytest.approx(harmful / 2)
    note = " ".join(checked.study.notes)
    assert "obscene as profanity" in note and "identity_hate as identity_attack" in note
    written = json.loads((checked.path / "consistency.json").read_text())
    assert written["renamed"]["toxic"] == "toxicity"
    stored = pl.read_parquet(checked.path / "scores.parquet")
    assert stored.columns == ["domain", "level", "group", "prompt_id", *names, "error"]


def test_attributes_can_be_chosen_by_either_name(prompts, tmp_path):
    options = {"prompts": prompts(20), "neutral": "none", "groups": 1, "classifier": Six()}
    chosen = check_consistency(
        METHOD, model_with(OBEYS), attributes=("toxic", "threat"), output=tmp_path / "study", **options
    )
    assert chosen.study.attributes.names == ("toxicity", "threat")
    with pytest.raises(UsageError, match=r"Unknown attribute of the classifier six: 'thread'.*threat"):
        check_consistency(METHOD, model_with(OBEYS), attributes=("thread",), **options)


def test_one_score_is_judged_at_the_classifiers_own_verdict_or_as_given(prompts, tmp_path):
    options = {"prompts": prompts(20), "neutral": "none", "groups": 1, "output": tmp_path / "study"}
    own = check_consistency(METHOD, model_with(OBEYS), classifier=Finder(), **options)
    assert own.study.threshold == (0.9, "the classifier's own verdict")
    strict = check_consistency(METHOD, model_with(OBEYS), classifier=Finder(), threshold=0.05, **options)
    assert strict.table.filter(pl.col("attribute").is_null())["percent"].to_list() == [100.0] * 5

    class Silent(Finder):
        @property
        def fingerprint(self):
            return {"name": "silent"}

        def scores_of(self, texts):
            scores, score, _ = super().scores_of(texts)
            return scores, score, [None] * len(texts)

    with pytest.raises(UsageError, match=r"does not decide.*\n.*--threshold"):
        check_consistency(METHOD, model_with(OBEYS), classifier=Silent(), **options)


def test_without_an_opposite_polarity_does_not_apply_until_one_is_given(prompts, tmp_path):
    options = {"prompts": prompts(150), "neutral": "none", "groups": 1, "classifier": Finder()}
    without = check_consistency(Prefix("Be kind."), model_with(OBEYS), output=tmp_path / "without", **options)
    found = {one.test: one for one in without.decisions}
    assert found["polarity"].outcome == Outcome.NOT_APPLICABLE
    assert "--opposite" in found["polarity"].reason
    assert found["importance"].outcome == Outcome.PASS
    assert "reaches 0%" in found["importance"].amount
    given = check_consistency(
        Prefix("Be kind."), model_with(OBEYS), opposite="Be cruel.", output=tmp_path / "given", **options
    )
    assert outcomes(given)["polarity", "adversarial"] == "passes"


@pytest.mark.parametrize(
    ("method", "options", "error", "told"),
    [
        ("self-deceiving", {}, UsageError, "Unknown mitigation: 'self-deceiving'"),
        (METHOD, {"neutral": None}, UsageError, "no neutral prompts.*\n.*--neutral FILE"),
        (METHOD, {"opposite": "Be kind."}, UsageError, "is the wording of prefix itself"),
        (
            METHOD,
            {"opposite": ("Be cruel.", "Be rude.")},
            UsageError,
            "prefix accepts one instruction, got 2",
        ),
        (METHOD, {"prompts": "none.csv"}, DataError, "File not found: .*none.csv"),
        (METHOD, {"rule": "lenient"}, UsageError, "rule: expected 'tested'"),
        (
            METHOD,
            {"decoding": "creative"},
            UsageError,
            "unknown value 'creative'; expected one of auto, beams",
        ),
        (METHOD, {"groups": 0}, UsageError, "groups: must be"),
        (METHOD, {"data": {"bold": "x"}}, UsageError, "Unknown data set of a consistency check: 'bold'"),
        (METHOD, {"colour": "red"}, UsageError, "colour: there is no such option"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_asked(method, options, error, told, prompts, tmp_path):
    asked = []
    model = writes(lambda prompt, sample: asked.append(prompt) or " x", "house/model")
    given = {"prompts": prompts(20), "neutral": prompts(20, "calm"), "classifier": Finder()} | options
    with pytest.raises(error, match=told):
        check_consistency(method, model, output=tmp_path / "study", **given)
    assert asked == [] and not (tmp_path / "study").exists()


def test_a_model_that_fails_everywhere_is_an_error_that_names_the_code(prompts, tmp_path):
    with pytest.raises(
        DataError, match=r"level default has a score on the adversarial prompts \(10 model_error\)"
    ):
        check_consistency(
            METHOD,
            load_puppet("failing"),
            prompts=prompts(10),
            neutral="none",
            classifier=Finder(),
            groups=1,
            output=tmp_path / "study",
        )


def test_a_level_that_fails_whole_costs_its_test_and_not_the_study(prompts, tmp_path):
    """Nonsense has many tokens and may not fit where the method's own words do."""
    obeys = model_with(OBEYS)

    class Short:
        architecture, fingerprint, describe = "causal", {"name": "short"}, obeys.describe
        log_likelihoods = obeys.log_likelihoods

        def generate(self, prompts, decoding):
            made = obeys.generate(prompts, decoding)
            fits = ["kind" in p or "cruel" in p or "\n" not in p or p[0] == " " for p in prompts]
            errors = [None if good else ResponseError.TOO_LONG for good in fits]
            texts = [text if good else None for text, good in zip(made.texts, fits, strict=True)]
            counts = np.where(fits, made.token_count, 0)
            return replace(
                made,
                texts=texts,
                errors=errors,
                offsets=np.concatenate([[0], np.cumsum(counts)]),
                token_ids=made.token_ids[: counts.sum()],
                finish=[end if good else None for end, good in zip(made.finish, fits, strict=True)],
                log_likelihood=np.where(fits, made.log_likelihood, np.nan),
            )

    options = {"prompts": prompts(150), "neutral": "none", "groups": 2, "classifier": Finder()}
    checked = check_consistency(METHOD, Short(), output=tmp_path / "study", **options)
    found = {one.test: one for one in checked.decisions}
    assert found["polarity"].outcome == Outcome.PASS
    assert found["importance"].outcome == Outcome.NOT_APPLICABLE
    assert "nonsensical" in found["importance"].reason and "300 too_long" in found["importance"].reason
    assert checked.study.above_threshold.startswith(
        "100.0% of the continuations failed at the level nonsensical"
    )


def test_a_model_that_cannot_search_gets_the_other_published_decoding(prompts, tmp_path):
    class NoBeams:
        architecture = "causal"

        def __init__(self):
            self.inner = model_with(OBEYS)
            self.fingerprint, self.describe = {"name": "greedy only"}, self.inner.describe
            self.log_likelihoods = self.inner.log_likelihoods

        def generate(self, prompts, decoding):
            if decoding.searches:
                raise Unsupported("This service searches no beams.")
            return self.inner.generate(prompts, decoding)

    options = {"prompts": prompts(20), "neutral": "none", "groups": 1, "classifier": Finder()}
    checked = check_consistency(METHOD, NoBeams(), output=tmp_path / "study", **options)
    assert checked.study.decoding.decoding.is_greedy and not checked.study.decoding.decoding.searches
    assert "searches no beams" in checked.study.decoding.reason
    with pytest.raises(Unsupported, match="no beams"):
        check_consistency(METHOD, NoBeams(), decoding="beams", output=tmp_path / "other", **options)


def test_the_published_wordings_are_the_levels_of_instructive_debiasing():
    levels = build_levels(load_mitigation("instructive-debiasing"), groups=3, seed=5)
    assert levels.frame == WordingFrame("Be ", " for: ")
    assert levels.named("nonsensical")[0].texts == ("Be uf a;wo 3; na;o8d ;n3oi8ue o8 fypaoh3fkjnef for: ",)
    drawn = [level.texts[0] for level in levels.named("nonsensical")[1:]]
    assert all(text.startswith("Be ") and text.endswith(" for: ") for text in drawn) and len(set(drawn)) == 2
    assert levels.named("blank")[0].texts == ("Be for: ",)


def test_several_prefixes_keep_their_frame_and_go_blank_as_single_spaces():
    @dataclass(frozen=True)
    class Prefixes(Trigger):
        specification: Specification = SELF_DEBIASING
        texts: tuple[str, ...] = SELF_DEBIASING.texts

        def specified(self, texts):
            return replace(self, texts=tuple(texts))

    levels = build_levels(Prefixes(), groups=2)
    assert levels.frame == WordingFrame("The following text contains ", ":")
    for level in levels.named("nonsensical"):
        assert len(set(level.texts)) == 2
        assert all(
            text.startswith("The following text contains ") and text.endswith(":") for text in level.texts
        )
    assert levels.named("blank")[0].texts == (" ", " ")
    assert find_frame(Specification(("One text.",))) == WordingFrame("", "")


@given(seed=st.integers(0, 10_000), group=st.integers(1, 50), count=st.integers(1, 8))
@settings(max_examples=40)
def test_nonsense_is_seeded_of_any_length_and_shares_no_word(seed, group, count):
    pieces = nonsense(count, seed=seed, group=group, unlike=["the abc def xyz"])
    assert pieces == nonsense(count, seed=seed, group=group, unlike=["the abc def xyz"])
    assert len(pieces) == count and all(piece and len(piece) <= LENGTHS[1] for piece in pieces)
    assert not {"the", "abc", "def", "xyz"} & {word for piece in pieces for word in piece.split()}


def test_the_page_holds_everything_and_lets_no_text_out(prompts, tmp_path, reads_pages):
    hostile = Prefix(
        "Be kind.", name="<script>x</script>", levels=(("opposite", ("Be cruel. <img src=x>",)),)
    )
    evil = writes(
        lambda prompt, sample: " <b>fool</b>" if luck(prompt) < 0.4 else " ok", "house/<i>model</i>"
    )
    options = {"prompts": prompts(20), "neutral": "none", "groups": 1, "classifier": Finder()}
    checked = check_consistency(hostile, evil, output=tmp_path / "study", **options)
    page = (checked.path / "consistency.html").read_text()
    for told in (
        "&lt;script&gt;x&lt;/script&gt;",
        "&lt;img src=x&gt;",
        "&lt;b&gt;fool&lt;/b&gt;",
        "A wild case",
    ):
        assert told in page
    assert "<img" not in page and page.count("<script>") == 1
    for one in checked.decisions:
        assert str(one.outcome) in page
    for name in ("table", "boundaries", "nonsense", "decisions", "wordings", "scores"):
        assert pl.read_parquet(checked.path / f"{name}.parquet").height > 0


@pytest.mark.parity
def test_the_published_prompts_are_the_default(shared: Path, tmp_path):
    checked = check_consistency(
        METHOD,
        model_with(OBEYS),
        data={"realtoxicityprompts": str(shared / "data" / "realtoxicityprompts")},
        limit=20,
        groups=1,
        classifier=Finder(),
        output=tmp_path / "study",
    )
    domains = checked.study.domains
    assert [len(prompts) for prompts in domains.values()] == [20, 20]
    assert domains["adversarial"].frame["challenging"].all()
    assert not domains["neutral"].frame["challenging"].any()


def test_of_the_owners_file_as_many_neutral_prompts_are_drawn_as_are_challenging(tmp_path):
    rows = [{"prompt": {"text": f"Prompt {i}"}, "challenging": i % 4 == 0} for i in range(40)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = {"realtoxicityprompts": str(tmp_path)}
    checked = check_consistency(
        METHOD, model_with(OBEYS), data=data, groups=1, classifier=Finder(), output=tmp_path / "study"
    )
    assert [len(prompts) for prompts in checked.study.domains.values()] == [10, 10]
    assert not checked.study.domains["neutral"].frame["challenging"].any()
