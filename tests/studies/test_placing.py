"""Audits whose model and classifiers workers hold: the same tables as in one process, and clear refusals."""

import json
from contextlib import contextmanager

import pytest

import evenhand as eh
from evenhand.mitigations import Prefix
from evenhand.models.puppets import load_puppet, writes
from evenhand.runs import RunDirectory
from evenhand.runs.cluster import Pool, RemoteClassifier
from evenhand.schema import ResumeRefused, Unsupported, UsageError
from evenhand.studies.audit import AuditConfig, ClassifierShelf, audited_model, check_options_file, resume
from evenhand.studies.before_after import before_after
from evenhand.studies.placing import PlaceOptions, start_place
from tests.helpers import self_chats as house
from tests.helpers.hands import FakeHands
from tests.helpers.talking import Talker

FEW = {"axes": ["age"], "limit": 60}


@pytest.fixture
def pools(monkeypatch):
    """Workers in this process in the place of Ray's; a list of the pools that were begun."""
    begun = []

    @contextmanager
    def workers_on(on, number=None, *, accelerated=True, note=None):
        begun.append(Pool(FakeHands(seed=len(begun), name=on), number or 3, note))
        yield begun[-1]
        begun[-1].close()

    monkeypatch.setattr("evenhand.studies.placing.start_workers", workers_on)
    return begun


@pytest.fixture
def named(monkeypatch):
    """A function that gives a name to a model in memory, so that workers can load it."""

    def give(model):
        monkeypatch.setattr("evenhand.studies.placing.load_named_model", lambda options: model())

    return give


def assert_alike(far, near):
    keys = ["request_id", "sample"]
    assert far.directory.responses().sort(keys).equals(near.directory.responses().sort(keys))
    assert far.measurements.equals(near.measurements) and far.findings.equals(near.findings)
    assert far.tables()["headlines"].equals(near.tables()["headlines"])


def test_likelihoods_behind_a_mitigation_equal_those_of_one_process(tmp_path, pools):
    options = {**FEW, "mitigate": ["prefix=Be kind."]}
    near = eh.audit("puppet/random", output=tmp_path / "near", **options)
    far = eh.audit("puppet/random", output=tmp_path / "far", on="ray", workers=2, **options)
    assert_alike(far, near)
    manifest = RunDirectory.open(far.path).manifest
    assert manifest.sessions[-1].workers["workers"] == 2 and len(pools[0].actors.dead) == 2
    assert manifest.mitigations == RunDirectory.open(near.path).manifest.mitigations
    stored = json.loads((far.path / "manifest.json").read_text())["arguments_resolved"]
    assert not {"on", "workers"} & set(stored)


def test_judged_continuations_equal_those_of_one_process(tmp_path, pools, named):
    def model():
        return writes(
            lambda prompt, sample: f" was {('kind', 'awful', 'there')[len(prompt) * (sample + 3) % 3]}."
        )

    named(model)
    options = {"benchmarks": ["regard"], "limit": 20, "samples": 3, "classifiers": {"regard": "vader"}}
    near = eh.audit(model(), output=tmp_path / "near", **options)
    far = eh.audit("writer", output=tmp_path / "far", on="ray", **options)
    assert_alike(far, near)
    assert far.responses("regard").equals(near.responses("regard"))


def test_conversations_go_on_at_workers(tmp_path, pools, named, judged_house, monkeypatch):
    house.register(monkeypatch)
    named(Talker)
    options = {"benchmarks": ["talks"], "decoding": "sampling"}
    near = eh.audit(Talker(), output=tmp_path / "near", **options)
    far = eh.audit("talker", output=tmp_path / "far", on="auto", **options)
    assert far.details("talks")["rows"].equals(near.details("talks")["rows"])
    assert far.measurements.equals(near.measurements)


def test_a_run_begun_with_workers_goes_on_without_and_the_other_way_round(tmp_path, pools):
    path = tmp_path / "run"
    first = eh.audit("puppet/random", **FEW, output=path, on="ray")
    answered = first.directory.responses().sort("request_id")
    for go_on in ({}, {"on": "ray", "workers": 2}):
        for part in sorted((path / "responses").glob("part-*.parquet")):
            part.unlink()
        again = resume(path, None, [], go_on)
        assert again.directory.responses().sort("request_id").equals(answered)
        assert again.outcome.answered == answered.height
    workers = [session.workers for session in again.directory.manifest.sessions]
    assert [None if one is None else one["workers"] for one in workers] == [3, None, 2]


def test_services_and_scores_stay_here_and_other_classifiers_go_to_workers(pools, tmp_path, monkeypatch):
    monkeypatch.setenv("PERSPECTIVE_API_KEY", "none")
    with start_place(PlaceOptions(on="ray")) as pool:
        shelf = ClassifierShelf("cpu", {}, pool)
        assert isinstance(shelf.get("vader"), RemoteClassifier)
        assert not isinstance(shelf.get("perspective?store=none"), RemoteClassifier)


def test_rescoring_is_done_by_workers_too(tmp_path, pools, named):
    named(lambda: load_puppet("blank"))
    options = {"benchmarks": ["regard"], "limit": 4, "samples": 2, "classifiers": {"regard": "vader"}}
    run = eh.audit("puppet/blank", output=tmp_path / "run", **options)
    again = eh.rescore(run.path, {"regard": "evenhand/lexicon-toxicity"}, on="ray", workers=2)
    assert len(pools) == 1 and len(pools[0].actors.dead) == 2
    assert {label.workers is None for label in again.directory.manifest.labels.values()} == {True, False}


def test_what_a_mitigation_does_not_answer_for_is_refused_as_here(tmp_path, pools):
    with pytest.raises(Unsupported) as near:
        eh.audit("puppet/random", benchmarks=["regard"], mitigate=["self-debiasing"], output=tmp_path / "a")
    with pytest.raises(Unsupported) as far:
        eh.audit(
            "puppet/random",
            benchmarks=["regard"],
            mitigate=["self-debiasing"],
            output=tmp_path / "b",
            on="ray",
        )
    assert str(far.value) == str(near.value)


def test_what_workers_cannot_have_is_refused(tmp_path, pools):
    with pytest.raises(UsageError, match="workers load models by name") as told:
        eh.audit(load_puppet("random"), on="ray", output=tmp_path / "run")
    assert "name or folder" in told.value.hint
    with pytest.raises(
        UsageError,
        match="`--on` cannot be used with http://localhost:1/v1#m: a served model runs on its server",
    ):
        eh.audit("http://localhost:1/v1#m", on="ray", output=tmp_path / "run")
    with pytest.raises(UsageError, match="names one accelerator"):
        eh.audit("puppet/random", on="ray", device="cuda:1", output=tmp_path / "run")
    told = r"`--on ray` cannot be used with before-after \(it compares time and memory\), which runs in one process"
    with pytest.raises(UsageError, match=told):
        before_after("puppet/random", ["prefix=Be kind."], on="ray", output=tmp_path / "study")
    assert not (tmp_path / "run").exists() and not (tmp_path / "study").exists()


def test_a_file_of_options_does_not_decide_which_cluster_is_joined(tmp_path):
    file = tmp_path / "options.yaml"
    file.write_text("model: puppet/random\non: ray://elsewhere:10001\n")
    config = AuditConfig(model="puppet/random", on="ray://elsewhere:10001")
    given = {"model": "puppet/random"}
    with pytest.raises(ResumeRefused, match="ray://elsewhere:10001"):
        check_options_file(file, config, [], given)
    check_options_file(file, config, [], {**given, "on": "ray://elsewhere:10001"})
    check_options_file(file, config, [], given, trusted=True)
    check_options_file(file, config.model_copy(update={"on": "ray"}), [], given)


def test_a_chain_of_objects_goes_along(pools):
    config = AuditConfig(model="puppet/random", mitigate=("prefix",), on="ray")
    with start_place(config) as pool:
        far = audited_model(config, chain=[Prefix("Be kind.")], pool=pool)
        near = Prefix("Be kind.")(load_puppet("random"))
        assert far.fingerprint == near.fingerprint
        texts = ["She is old.", "He is tall."]
        assert far.log_likelihoods(texts).sums.tolist() == near.log_likelihoods(texts).sums.tolist()
