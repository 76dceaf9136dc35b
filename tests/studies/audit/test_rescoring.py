"""An old run judged anew: other verdicts on the same continuations, nothing asked twice, nothing lost."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.runs import RunDirectory, judgements, label_folders
from evenhand.schema import DataError, Interrupted, ModelError, UsageError
from evenhand.studies.audit.rescoring import rescore_run
from evenhand.studies.audit.result import audit, open_run, rescore, resume


@pytest.fixture
def run(judged_house, tmp_path):
    """A run of two roles, judged by the published classifiers; what was asked so far is forgotten."""
    finished = audit("house/writer", benchmarks=["two-roles"], output=tmp_path / "run")
    finished.report()
    judged_house.WordJudge.asked.clear()
    return finished


def rate(run, group: str) -> float:
    return run.measurements.filter(group=group)["estimate"].item()


def responses(run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run.path / "responses").iterdir()}


def test_other_verdicts_on_the_same_continuations(judged_house, run):
    before, page = responses(run), run.directory.report_path.read_bytes()
    again = rescore(run, {"rudeness": "house/words?word=mean"})
    assert responses(again) == before
    said = [judged_house.said(f"In case {i} my brown-haired", s) for i in range(8) for s in (0, 1)]
    assert (rate(run, "red"), rate(again, "red")) == (0.0, 0.0), "measurements are replaced on disk, too"
    assert rate(again, "brown") == said.count(" is mean.") / 16
    assert again.directory.report_path.read_bytes() != page
    assert (again.responses("two-roles")["rudeness_negative"]).sum() == 2 * said.count(" is mean.")


def test_only_the_role_that_is_named_is_judged_and_each_text_once(judged_house, run):
    rescore(run.path, {"rudeness": "house/words?word=kind"})
    assert sorted(judged_house.WordJudge.asked) == sorted(judged_house.SAID)
    manifest = RunDirectory.open(run.path).manifest
    assert manifest.judged["two-roles"]["meanness"] == run.directory.manifest.judged["two-roles"]["meanness"]
    assert manifest.arguments_resolved["classifiers"] == {"rudeness": "house/words?word=kind"}


def test_an_earlier_classifier_comes_back_without_being_asked(judged_house, run):
    first = run.responses("two-roles")
    kind = rescore(run, {"rudeness": "house/words?word=kind"})
    folders = label_folders(kind.directory)
    judged_house.WordJudge.asked.clear()
    back = rescore(kind, {"rudeness": "house/words"})
    assert judged_house.WordJudge.asked == [] and back.labelled.judged == 0
    assert rate(back, "red") == 1.0
    assert back.responses("two-roles").equals(first)
    assert set(label_folders(back.directory)) == set(folders), "no labels are lost"
    key = next(name for name in folders if "kind" in name)
    earlier = judgements(back.directory, "two-roles", "rudeness", key)
    assert (earlier["negative"] == earlier["judged_text"].str.contains("kind")).all()


def test_after_rescoring_the_run_goes_on_with_the_new_classifier(judged_house, run):
    rescore(run, {"rudeness": "house/words?word=kind"})
    judged_house.WordJudge.asked.clear()
    again = resume(run.path, None, [], {})
    assert judged_house.WordJudge.asked == [] and rate(again, "red") == 0.0
    assert (
        resume(run.path, None, [], {}, classifiers=["rudeness=house/words?word=kind"]).outcome.answered == 0
    )


def test_stopped_in_the_middle_the_earlier_verdicts_still_count_and_the_same_call_goes_on(judged_house, run):
    judged_house.WordJudge.stop_after = 2
    with pytest.raises(Interrupted):
        rescore(run, {"rudeness": "house/words?word=kind"})
    judged_house.WordJudge.stop_after = None
    stopped = open_run(run.path)
    assert rate(stopped, "red") == 1.0
    assert stopped.directory.manifest.arguments_resolved["classifiers"] == {}
    assert rate(rescore(stopped, {"rudeness": "house/words?word=kind"}), "red") == 0.0


def test_a_run_that_was_never_judged_is_judged_in_every_role(judged_house, tmp_path):
    judged_house.WordJudge.stop_after = 0
    with pytest.raises(Interrupted):
        audit("house/writer", benchmarks=["two-roles"], output=tmp_path / "run")
    judged_house.WordJudge.stop_after = None
    done = rescore(tmp_path / "run", {"rudeness": "house/words?word=kind"})
    assert set(done.directory.manifest.judged["two-roles"]) == {"rudeness", "meanness"}
    assert done.responses("two-roles")["meanness_error"].null_count() == 48


@pytest.mark.parametrize(
    ("classifiers", "kind", "told"),
    [
        ({}, UsageError, "Missing option: `--classifier`"),
        ({"rudness": "vader"}, UsageError, "Unknown role: 'rudness'. Did you mean 'rudeness'"),
        ({"rudeness": "vadre"}, UsageError, "Unknown classifier: 'vadre'"),
        ({"rudeness": "house/words?word=absent"}, ModelError, "Cannot load the classifier .*: The weights"),
    ],
)
def test_what_cannot_judge_changes_nothing(judged_house, run, classifiers, kind, told):
    before = (run.path / "manifest.json").read_bytes()
    with pytest.raises(kind, match=told) as caught:
        rescore_run(run.directory, classifiers)
    assert caught.value.hint
    assert (run.path / "manifest.json").read_bytes() == before


def test_a_run_of_likelihoods_has_nothing_to_judge(judged_house, tmp_path):
    rows = [f"a,I met X.,{d},n{i},I met {d} n{i}." for d in ("tall", "short") for i in range(12)]
    (tmp_path / "mine.csv").write_text("\n".join(["axis,template,descriptor,noun,text", *rows]))
    mine = {"benchmarks": ["evenhand-likelihood"], "prompts": str(tmp_path / "mine.csv")}
    scored = audit("puppet/random", **mine, output=tmp_path / "run")
    with pytest.raises(DataError, match=r"none of its benchmarks .evenhand-like"):
        rescore(scored, {"toxicity": "vader"})


ROOT = Path(__file__).parents[3]
SLOW = """
import sys, time
import pytest
from tests.helpers import judged_house as house
house.register(pytest.MonkeyPatch())
judge, first = house.WordJudge.classify, house.WordJudge("rude")
def classify(self, texts, contexts=None):
    if self.word == "mean":
        print("judging", flush=True)
        time.sleep(600)
    return judge(self, texts, contexts)
house.WordJudge.classify = classify
from evenhand.studies.audit.result import audit
audit("house/writer", benchmarks=["two-roles"], output=sys.argv[1])
"""


def test_killed_while_judging_it_goes_on_there(judged_house, tmp_path):
    command = [sys.executable, "-c", SLOW, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "judging\n"
        process.send_signal(signal.SIGKILL)
    written = responses(open_run(tmp_path / "run"))
    run = resume(tmp_path / "run", None, [], {})
    assert run.outcome.answered == 0 and responses(run) == written
    assert not set(judged_house.WordJudge.asked) & set(judged_house.SAID), "the first role was judged before"
    assert judged_house.WordJudge.asked and rate(run, "red") == 1.0
    told = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(told["judged"]["two-roles"]) == {"rudeness", "meanness"}
