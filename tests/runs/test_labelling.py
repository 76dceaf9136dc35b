"""Judging a run: each text once for each classifier, resumable, and never at the cost of what is there."""

import hashlib
import io
import re
import signal
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from evenhand.classifiers.classified_text import ClassifiedText
from evenhand.models.decoding import Decoding
from evenhand.models.puppets import writes
from evenhand.runs import (
    GenerateRequest,
    Labelling,
    PlanPart,
    RunDirectory,
    answers,
    classifier_key,
    execute,
    judgements,
    label,
    label_folders,
    make_plan,
)
from evenhand.runs.progress import Lines
from evenhand.runs.shards import LABEL_PARTS, read_shards
from evenhand.schema import DataError, Interrupted, ResponseError, UsageError

TOXICITY = [Labelling("texts", "toxicity", "judge")]
WHOLE = ClassifiedText("prompt+continuation")


def content(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*")}


def labels(directory, key):
    return read_shards(directory.labels_folder(key), None, LABEL_PARTS).sort("text_id")


def asked(classifier):
    return sorted(text for batch in classifier.batches for text, _ in batch)


def test_each_distinct_text_is_judged_once_and_stands_beside_its_continuation(written, fakes):
    _, _, directory = written([f"Person {i}" for i in range(12)])
    judge = fakes.HashClassifier()
    outcome = label(directory, TOXICITY, {"judge": judge})
    table = answers(directory, "texts")
    assert table.columns[-5:] == [
        f"toxicity_{name}" for name in ("label", "score", "negative", "scores", "error")
    ]
    assert asked(judge) == sorted(set(table["continuation"]))
    assert (outcome.texts, outcome.judged) == (4, 4)
    for text, name, score, negative, scores, error in table.select(
        "continuation", *table.columns[-5:]
    ).rows():
        if text == "":
            assert (name, score, negative, scores, error) == (None, None, None, None, "empty_text")
            continue
        harm = fakes.HashClassifier.harm(text, None)
        assert (name, score, negative, error) == (judge.labels[harm > 0.5], harm, harm > 0.5, None)
        assert scores[1] == pytest.approx(harm, rel=1e-6)
    assert outcome.errors == {"empty_text": 1}
    assert outcome.error_share == 0.25
    again = fakes.HashClassifier()
    assert label(directory, TOXICITY, {"judge": again}).judged == 0
    assert again.batches == []
    assert answers(RunDirectory.open(directory.path), "texts").equals(table)


def test_longest_texts_are_judged_first_in_shards_that_grow(start, fakes):
    model = writes(lambda prompt, sample: " " + "x" * int(prompt))
    request = GenerateRequest(Decoding(max_new_tokens=9))
    plan, _, directory = start([str(i) for i in range(1, 31)], model, request)
    execute(plan, model, directory)
    judge = fakes.HashClassifier()
    label(directory, TOXICITY, {"judge": judge}, first_shard=4, max_shard=16)
    assert [len(batch) for batch in judge.batches] == [4, 8, 16, 2]
    lengths = [len(text) for batch in judge.batches for text, _ in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_a_text_that_benchmarks_share_is_answered_and_judged_once(tmp_path, fakes):
    model = fakes.HashWriter()
    request = GenerateRequest(fakes.WRITING)
    frames = [fakes.numbered_prompts(9), fakes.numbered_prompts(5).with_columns(pl.col("prompt_id") + "x")]
    parts = [PlanPart(name, frame, request) for name, frame in zip(["one", "two"], frames, strict=True)]
    plan = make_plan(parts, model.fingerprint)
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    assert sum(map(len, model.batches)) == 9
    judge = fakes.HashClassifier()
    wanted = [Labelling(name, "toxicity", who, WHOLE) for name, who in [("one", "a"), ("two", "b")]]
    # Two names of one classifier are one classifier.
    outcome = label(directory, wanted, {"a": judge, "b": fakes.HashClassifier()})
    one, two = answers(directory, "one"), answers(directory, "two")
    assert asked(judge) == sorted(set(one["text"] + one["continuation"]))
    assert outcome.folders["a"] == outcome.folders["b"] == classifier_key(judge)
    assert two["toxicity_score"].to_list() == one["toxicity_score"].to_list()[:10]


def test_a_context_belongs_to_the_text_for_those_who_read_it(written, fakes):
    _, _, directory = written(["She", "He"], model=writes(lambda prompt, sample: " cooks."), samples=1)
    reader, blind = (
        fakes.HashClassifier(reads_context=True, name="reader"),
        fakes.HashClassifier(name="blind"),
    )
    wanted = [
        Labelling("texts", "behind", "reader"),
        Labelling("texts", "alone", "blind"),
        Labelling("texts", "whole", "reader", WHOLE),
    ]
    label(directory, wanted, {"reader": reader, "blind": blind})
    assert sorted(one for batch in reader.batches for one in batch if one[1]) == [
        (" cooks.", "He"),
        (" cooks.", "She"),
    ]
    # A prompt that is part of the text is not its context too.
    assert {one for batch in reader.batches for one in batch if not one[1]} == {
        ("She cooks.", None),
        ("He cooks.", None),
    }
    assert blind.batches == [[(" cooks.", None)]]
    table = answers(directory, "texts")
    harm = fakes.HashClassifier.harm
    assert table["behind_score"].to_list() == [harm(" cooks.", "She"), harm(" cooks.", "He")]
    assert table["alone_score"].to_list() == [harm(" cooks.", None)] * 2
    assert table["whole_score"].to_list() == [harm("She cooks.", None), harm("He cooks.", None)]


def test_the_rule_may_mask_a_column_that_is_not_asked_for(tmp_path, fakes):
    model = writes(lambda prompt, sample: " cooks. So.")
    frame = pl.DataFrame({"prompt_id": ["x"], "text": ["The man here"], "who": ["The man"], "axis": ["a"]})
    plan = make_plan(
        [PlanPart("texts", frame, GenerateRequest(Decoding(max_new_tokens=9)))], model.fingerprint
    )
    directory = RunDirectory.create(tmp_path / "run", model=model, given={}, resolved={})
    execute(plan, model, directory)
    judge = fakes.HashClassifier()
    rule = ClassifiedText("prompt+continuation", first_sentence=True, masked="who")
    label(directory, [Labelling("texts", "regard", "judge", rule)], {"judge": judge})
    assert asked(judge) == ["XYZ here cooks."]
    table = answers(directory, "texts", ["prompt_id", "axis"])
    assert table.columns[:3] == ["prompt_id", "axis", "sample"]
    assert table["regard_score"].to_list() == [fakes.HashClassifier.harm("XYZ here cooks.", None)]
    assert judgements(directory, "texts", "regard")["judged_text"].to_list() == ["XYZ here cooks."]
    assert ClassifiedText(**directory.manifest.judged["texts"]["regard"].rule) == rule


def test_failed_and_unjudged_continuations_say_why(written, fakes):
    _, _, directory = written(["She", " ", "He"], model=writes(lambda prompt, sample: f" like {prompt}"))
    judge = fakes.HashClassifier()
    outcome = label(directory, TOXICITY, {"judge": judge})
    assert asked(judge) == [" like He", " like She"]
    assert outcome.errors == {}
    table = answers(directory, "texts")
    assert table["toxicity_error"].to_list() == [None, None, "empty_text", "empty_text", None, None]
    # A label that is lost is missing, not zero.
    for part in directory.labels_folder(classifier_key(judge)).glob("part-*"):
        part.unlink()
    table = answers(directory, "texts")
    assert table["toxicity_error"].to_list() == ["missing"] * 2 + ["empty_text"] * 2 + ["missing"] * 2
    assert table["toxicity_score"].null_count() == 6
    assert label(directory, TOXICITY, {"judge": judge}).judged == 2


def test_the_manifest_tells_who_judged_what(written, fakes):
    _, _, directory = written(["She", "He"])
    judge = fakes.HashClassifier()
    outcome = label(directory, TOXICITY, {"judge": judge})
    manifest = RunDirectory.open(directory.path).manifest
    key = classifier_key(judge)
    assert key.startswith("org%2Fjudge@")
    assert len(key.split("@")[1]) == 12
    assert label_folders(directory) == {key: directory.path / "labels" / key}
    assert [path.name for path in (directory.path / "labels").iterdir()] == [key]
    record = manifest.labels[key]
    assert record.fingerprint == judge.fingerprint
    assert record.labels == ("kind", "rude")
    assert record.description["texts"] == record.texts == outcome.texts
    assert record.seconds == pytest.approx(manifest.timings["labels"])
    assert manifest.judged["texts"]["toxicity"].classifier == key
    assert manifest.judged_before == []


def test_another_judge_takes_over_and_touches_nothing(written, fakes):
    _, _, directory = written([f"Person {i}" for i in range(8)])
    first, second = fakes.HashClassifier(), fakes.HashClassifier(name="other")
    label(directory, TOXICITY, {"judge": first})
    before = answers(directory, "texts")
    stored = content(directory.responses_folder), content(directory.labels_folder(classifier_key(first)))
    label(directory, TOXICITY, {"judge": second})
    label(directory, TOXICITY, {"judge": second})
    assert stored == (
        content(directory.responses_folder),
        content(directory.labels_folder(classifier_key(first))),
    )
    manifest = RunDirectory.open(directory.path).manifest
    assert manifest.judged["texts"]["toxicity"].classifier == classifier_key(second)
    history = [(old.benchmark, old.role, old.classifier) for old in manifest.judged_before]
    assert history == [("texts", "toxicity", classifier_key(first))]
    old = judgements(directory, "texts", "toxicity", classifier_key(first))
    assert old.columns == [
        "prompt_id",
        "sample",
        "judged_text",
        "label",
        "score",
        "negative",
        "scores",
        "error",
    ]
    assert old["score"].equals(before["toxicity_score"].alias("score"), null_equal=True)
    assert old["judged_text"].to_list() == before["continuation"].to_list()
    now = judgements(directory, "texts", "toxicity")
    assert now["label"].to_list() == answers(directory, "texts")["toxicity_label"].to_list()
    told = "the toxicity of 'texts' has been classified by other@.*, org%2Fjudge@.*, but not by 'nobody@0'"
    with pytest.raises(DataError, match=told):
        judgements(directory, "texts", "toxicity", "nobody@0")
    with pytest.raises(DataError, match="the regard of 'texts' has been classified by no classifier"):
        judgements(directory, "texts", "regard")


def test_a_judgement_that_is_stopped_does_not_count_yet(written, fakes):
    _, _, directory = written([f"Person {i}" for i in range(20)])
    label(directory, [Labelling("texts", "toxicity", "judge", WHOLE)], {"judge": fakes.HashClassifier()})
    before = answers(directory, "texts")

    def stop_late(texts):
        if len(judge.batches) == 2:
            signal.raise_signal(signal.SIGINT)

    judge = fakes.HashClassifier(stop_late, name="other")
    wanted = [Labelling("texts", "toxicity", "judge", WHOLE)]
    told = r"Stopped with 8 texts classified by other@.* in this session\. All results so far are saved"
    with pytest.raises(Interrupted, match=told) as caught:
        label(directory, wanted, {"judge": judge}, first_shard=4, max_shard=4)
    assert caught.value.exit_code == 130
    assert answers(RunDirectory.open(directory.path), "texts").equals(before)
    assert directory.manifest.labels[classifier_key(judge)].texts == 8
    mended = fakes.HashClassifier(name="other")
    outcome = label(RunDirectory.open(directory.path), wanted, {"judge": mended})
    distinct = (before["text"] + before["continuation"]).n_unique()
    assert (outcome.judged, outcome.texts) == (distinct - 8, distinct)
    assert not set(asked(judge)) & set(asked(mended))


def test_what_the_classifier_failed_on_is_asked_again_only_on_request(written, fakes):
    _, _, directory = written(["She", "He", "They"], model=writes(lambda prompt, sample: " " + prompt))

    def choke(texts):
        if " He" in texts:
            raise RuntimeError("not now")

    assert label(directory, TOXICITY, {"judge": fakes.HashClassifier(choke)}).errors == {
        "classifier_error": 1
    }
    mended = fakes.HashClassifier()
    assert label(directory, TOXICITY, {"judge": mended}).errors == {"classifier_error": 1}
    assert label(directory, TOXICITY, {"judge": mended}, retry_errors=True).errors == {}
    assert asked(mended) == [" He"]
    key = classifier_key(mended)
    assert labels(directory, key).height == directory.manifest.labels[key].texts == 3
    assert directory.manifest.labels[key].errors == {}


def test_a_corrupt_part_is_set_aside_and_judged_again(written, fakes):
    _, _, directory = written([f"Person {i}" for i in range(20)])
    wanted = [Labelling("texts", "toxicity", "judge", WHOLE)]
    judge = fakes.HashClassifier()
    key = classifier_key(judge)
    label(directory, wanted, {"judge": judge}, first_shard=10, max_shard=10)
    whole = labels(directory, key)
    broken = directory.labels_folder(key) / "part-000002.parquet"
    broken.write_bytes(broken.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"part-000002.*cannot be read") as caught:
        answers(directory, "texts")
    assert f"evenhand audit {directory.path})" in caught.value.hint
    outcome = label(directory, wanted, {"judge": judge})
    assert "part-000002.parquet.corrupt" in outcome.notes[0]
    assert outcome.judged == 10
    assert labels(directory, key).equals(whole)


def test_responses_mended_later_are_judged_then(start, fakes):
    def choke(prompts):
        if "b" in prompts:
            raise RuntimeError("not now")

    plan, model, directory = start(["a", "b"], fakes.HashWriter(choke), GenerateRequest(fakes.WRITING))
    execute(plan, model, directory)
    wanted, judge = [Labelling("texts", "toxicity", "judge", WHOLE)], fakes.HashClassifier()
    assert label(directory, wanted, {"judge": judge}).judged == 2
    assert answers(directory, "texts")["toxicity_error"].to_list()[2:] == ["model_error"] * 2
    execute(plan, fakes.HashWriter(), directory, retry_errors=True)
    assert answers(directory, "texts")["toxicity_error"].to_list()[2:] == ["missing"] * 2
    assert label(directory, wanted, {"judge": judge}).judged == 2
    assert answers(directory, "texts")["toxicity_error"].null_count() == 4


def test_calls_that_cannot_be_meant_are_refused(written, fakes, tmp_path):
    _, _, directory = written(["She"])
    judge = {"judge": fakes.HashClassifier()}
    with pytest.raises(UsageError, match="Unknown classifier: 'jugde'"):
        label(directory, [Labelling("texts", "toxicity", "jugde")], judge)
    with pytest.raises(UsageError, match="Two classifiers were given for the"):
        label(directory, TOXICITY * 2, judge)
    told = r"has no generated text for 'regard'\.\n?.*Benchmarks with generated text: texts\."
    with pytest.raises(DataError, match=told):
        label(directory, [Labelling("regard", "toxicity", "judge")], judge)
    with directory.lock(), pytest.raises(UsageError, match="in use by process"):
        label(RunDirectory.open(directory.path), TOXICITY, judge)
    assert not (directory.path / "labels").exists()
    assert label(directory, [], {}).texts == 0

    frame = pl.DataFrame({"prompt_id": ["x"], "text": ["She"], "toxicity_score": [0.5]})
    model = fakes.HashWriter()
    plan = make_plan([PlanPart("texts", frame, GenerateRequest(fakes.WRITING))], model.fingerprint)
    other = RunDirectory.create(tmp_path / "other", model=model, given={}, resolved={})
    execute(plan, model, other)
    with pytest.raises(UsageError, match="have a column 'toxicity_score'"):
        label(other, TOXICITY, judge)


@settings(max_examples=6)
@given(
    texts=st.lists(st.sampled_from([" ", *"abcdefghijklmnop"]), min_size=1, max_size=20),
    sessions=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4)), max_size=5),
    samples=st.integers(1, 3),
)
def test_any_split_into_sessions_gives_the_same_tables(fakes, texts, sessions, samples):
    """Each session writes and judges in shards of its own size and is stopped after some batches of each stage."""
    frame = pl.DataFrame({"prompt_id": [str(i) for i in range(len(texts))], "text": texts})
    decoding = Decoding(max_new_tokens=9, temperature=1.0, samples=samples)
    plan = make_plan([PlanPart("texts", frame, GenerateRequest(decoding))], fakes.HashWriter().fingerprint)
    wanted = [
        Labelling("texts", "toxicity", "a"),
        Labelling("texts", "regard", "b", WHOLE),
        Labelling("texts", "insult", "a", WHOLE),
    ]
    batches = []

    def session(path, size=256, writing=99, judging=99):
        def stopper(left):
            def stop(asked):
                if left[0] == 0:
                    raise KeyboardInterrupt
                left[0] -= 1

            return stop

        directory, stop = RunDirectory.open(path), stopper([judging])
        model = fakes.HashWriter(stopper([writing]))
        judges = {name: fakes.HashClassifier(stop, name) for name in "ab"}
        try:
            execute(plan, model, directory, first_shard=size * 8 * samples, max_shard=size)
            label(directory, wanted, judges, first_shard=size, max_shard=size)
        except Interrupted:
            pass
        batches.extend(("model", text) for batch in model.batches for text in batch)
        batches.extend((name, text) for name in "ab" for batch in judges[name].batches for text, _ in batch)
        return answers(directory, "texts")

    with tempfile.TemporaryDirectory() as folder:
        split, whole = Path(folder) / "split", Path(folder) / "whole"
        for path in (split, whole):
            RunDirectory.create(path, model=fakes.HashWriter(), given={}, resolved={})
        for size, writing, judging in sessions:
            session(split, size, writing, judging)
        resumed = session(split)
        assert len(batches) == len(set(batches)), "something was asked twice"
        assert resumed.equals(session(whole))
        assert resumed.height == len(texts) * samples
        expected = {"model_error", "missing"}
        assert not expected & set(resumed["error"]) | expected & set(resumed["regard_error"])


@pytest.mark.parametrize("stage", ["writing", "judging"])
def test_stopped_at_every_shard_of_a_stage_it_ends_the_same(written, start, fakes, stage):
    texts = [f"Person {i:02}" for i in range(24)]
    _, _, reference = written(texts, name="reference")
    wanted = [Labelling("texts", "toxicity", "judge", WHOLE)]
    label(reference, wanted, {"judge": fakes.HashClassifier()})
    expected = answers(reference, "texts")

    plan, _, directory = start(texts, fakes.HashWriter(), GenerateRequest(fakes.WRITING))
    seen, stops = [], 0
    while True:

        def die(asked, count=[0]):  # noqa: B006  (a counter of this session)
            if count[0] == 1:
                raise KeyboardInterrupt
            count[0] += 1

        model = fakes.HashWriter(die if stage == "writing" else None)
        judge = fakes.HashClassifier(die if stage == "judging" else None)
        try:
            execute(plan, model, directory, first_shard=4 * 16, max_shard=4)
            label(directory, wanted, {"judge": judge}, first_shard=4, max_shard=4)
            break
        except Interrupted:
            stops += 1
        finally:
            seen += [("model", text) for batch in model.batches for text in batch]
            seen += [("judge", text) for batch in judge.batches for text, _ in batch]
    distinct = (expected["text"] + expected["continuation"]).n_unique()
    assert stops == {"writing": 24 // 4 - 1, "judging": (distinct - 1) // 4}[stage]
    assert len(seen) == len(set(seen)) == 24 + distinct
    assert answers(RunDirectory.open(directory.path), "texts").equals(expected)


def test_progress_tells_each_classifier_its_texts(written, fakes):
    stream, (_, _, directory) = io.StringIO(), written(["She", "He"], samples=1)
    wanted = [Labelling("texts", role, role, WHOLE) for role in ("one", "two")]
    judges = {role: fakes.HashClassifier(name=role) for role in ("one", "two")}
    for _ in range(2):
        label(directory, wanted, judges, progress=Lines(stream))
    told = re.sub(r"[\d,]+ texts/s", "? texts/s", stream.getvalue()).splitlines()
    keys = [classifier_key(judges[role]) for role in ("one", "two")]
    first = [
        ["2 of 2 texts to classify", f"classified by {key}", "2/2 texts · ? texts/s · 0 errors"]
        for key in keys
    ]
    again = ["0 of 2 texts to classify (2 done earlier)", "2/2 texts · ? texts/s · 0 errors"]
    assert told == first[0] + first[1] + again * 2


def test_errors_of_responses_are_not_counted_as_the_classifiers(written, fakes):
    class Refusing(fakes.HashWriter):
        def generate(self, prompts, decoding):
            rows = super().generate(prompts, decoding)
            rows.texts[:] = [None] * len(rows)
            rows.errors[:] = [ResponseError.REFUSED] * len(rows)
            return rows

    _, _, directory = written(["a", "b"], Refusing())
    outcome = label(directory, TOXICITY, {"judge": fakes.HashClassifier()})
    assert (outcome.texts, outcome.errors, outcome.error_share) == (0, {}, 0.0)
    assert answers(directory, "texts")["toxicity_error"].to_list() == ["refused"] * 4


def test_a_session_that_judges_nothing_keeps_what_an_earlier_one_learnt(written, fakes):
    class Learning(fakes.HashClassifier):
        def describe(self):
            return {**super().describe(), "batches_seen": len(self.batches)}

    _, _, directory = written([f"Person {i}" for i in range(6)])
    label(directory, TOXICITY, {"judge": Learning()})
    (record,) = directory.manifest.labels.values()
    learnt = record.description["batches_seen"]
    assert learnt > 0
    label(directory, TOXICITY, {"judge": Learning()})
    (record,) = directory.manifest.labels.values()
    assert record.description["batches_seen"] == learnt


@pytest.mark.parametrize("killed", [False, True])
def test_counts_of_a_classifier_add_up_over_sessions(written, fakes, killed):
    def stop_late(texts):
        if len(first.batches) == 2:
            signal.raise_signal(signal.SIGINT)

    wanted = [Labelling("texts", "toxicity", "judge", WHOLE)]
    first, second = fakes.HashClassifier(stop_late), fakes.HashClassifier()
    second.classify(["judged for another run"] * 5)
    _, _, directory = written([f"Person {i}" for i in range(20)])
    with pytest.raises(Interrupted):
        label(directory, wanted, {"judge": first}, first_shard=4, max_shard=4)
    record = directory.manifest.labels[classifier_key(first)]
    assert record.description["texts"] == 8
    if killed:  # a process that is killed stores labels, and writes no counts
        record.description["texts"] = 0
        directory.save()
    outcome = label(directory, wanted, {"judge": second})
    record = directory.manifest.labels[classifier_key(first)]
    assert 0 < outcome.judged == outcome.texts - 8
    assert record.description["texts"] == record.texts == outcome.texts
    assert record.description.get("texts_of_killed_sessions") == (8 if killed else None)
