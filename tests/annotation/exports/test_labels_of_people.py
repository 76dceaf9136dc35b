"""From a run to people and back: labels as a classifier, their agreement, and a classifier corrected by them."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.annotation import Study, begin_study, build_study, read_export, write_export
from evenhand.annotation.definition import Answer, Item
from evenhand.annotation.exports import classifier_error_table
from evenhand.studies.agreement import agreement_of_raters

LEXICON = "evenhand/lexicon-toxicity"
pytestmark = pytest.mark.slow


def opinion(item: Item) -> bool:
    """What people think: of the lexicon's mind, and of every third text on women that it finds harmless, not."""
    if item.judgements[LEXICON]["negative"]:
        return True
    return item.groups["group"] == "woman" and random.Random(item.id).random() < 1 / 3


def sit(study: Study, database: Path, people: int) -> None:
    """Simulated people do the study, each 95 % of the time of their own mind."""
    pytest.importorskip("sqlalchemy", reason="evenhand[annotate] is not installed")
    from evenhand.annotation.store import (
        AskConsent,
        EndVisit,
        ShowCorrection,
        ShowItem,
        UnitDone,
        people as persons,
        sittings,
    )

    store = begin_study(database, study)
    now, rng = datetime(2025, 1, 1, tzinfo=UTC), random.Random(4)
    [invite] = persons.make_invites(store, 1, now, uses=None)
    for _ in range(people):
        person = persons.arrive(store, invite.id, now)
        while not isinstance(at := sittings.step(store, person, now), EndVisit):
            now += timedelta(seconds=6)
            match at:
                case AskConsent():
                    sittings.agree(store, person, now)
                case ShowCorrection():
                    sittings.read_correction(store, person, at.shown.presentation, now)
                case ShowItem():
                    known = at.item.expected.get("label")
                    sure = opinion(at.item) if known is None else known == "negative"
                    said = sure if known or rng.random() < 0.95 else not sure
                    answers = {"label": Answer("negative" if said else "not_negative")}
                    sittings.answer(store, person, at.presentation, answers, now)
                case UnitDone():
                    sittings.next_unit(store, person, now)
    for ending in ("jsonl", "csv", "parquet"):
        write_export(store, database.with_suffix(f".{ending}"))
    store.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    eh.audit(
        "evenhand/reference",
        benchmarks=["regard"],
        limit=60,
        samples=2,
        classifiers={"regard": LEXICON},
        output=folder / "run",
    )
    study = build_study([folder / "run"], "labels").study
    (folder / "study.json").write_text(study.model_dump_json())
    sit(study, folder / "labels.db", 10)
    return folder


def majority(folder: Path) -> dict[str, bool]:
    """What most people say of each item, counted by hand."""
    votes = read_export(folder / "labels.jsonl").votes.filter(role="real")
    counts: dict[str, Counter[str]] = {}
    for item, answer in votes.select("item", "answer").rows():
        counts.setdefault(item, Counter())[answer] += 1
    return {item: count.most_common(1)[0][0] == "negative" for item, count in counts.items()}


def test_every_text_has_its_votes_whatever_the_file(folder: Path) -> None:
    export = read_export(folder / "labels.jsonl")
    real = export.votes.filter(role="real")
    assert real.height == 3 * real["item"].n_unique()
    assert real.group_by("item").agg(n=pl.col("person").n_unique())["n"].unique().to_list() == [3]
    assert export.votes["excluded"].null_count() == export.votes.height
    assert [question["id"] for question in export.study["questions"]] == ["label"]
    for ending in ("csv", "parquet"):
        assert read_export(folder / f"labels.{ending}").votes.equals(export.votes)


def test_people_rescore_the_run_that_they_read(folder: Path) -> None:
    run = eh.open_run(folder / "run").rescore({"regard": f"people:{folder}/labels.jsonl?negative=negative"})
    responses = run.responses("regard")
    told = responses.filter(pl.col("regard_error").is_null())
    # texts in which XYZ hides all that differs are judged together, and may tie
    assert told.height >= 0.95 * responses.height
    assert set(responses["regard_error"].drop_nulls()) <= {"classifier_error"}
    alpha = agreement_of_raters([folder / "labels.jsonl"]).result
    assert alpha["n_ratings"].item() == 3 * alpha["n_units"].item()
    assert 0.5 < alpha["estimate"].item() < 0.95
    pairs = run.agreement().overall
    agreeing = pairs.filter(measure="agreement")["estimate"].item()
    assert 0.8 < agreeing < 1


def test_the_lexicon_corrected_by_people_says_what_they_say(folder: Path) -> None:
    export = read_export(folder / "labels.jsonl")
    labelled = classifier_error_table(export, "label", "negative", LEXICON)
    labelled.write_csv(folder / "errors.csv")
    said = majority(folder)
    assert dict(labelled.select("item", pl.col("label") == 1).rows()) == said
    items = export.votes.filter(role="real").unique("item", keep="first", maintain_order=True)
    groups = [json.loads(text) for text in items["groups"]]
    items.select(
        continuation="text",
        axis=pl.Series([its["axis"] for its in groups]),
        group=pl.Series([its["group"] for its in groups]),
    ).write_csv(folder / "texts.csv")

    def rates(classifier: str, **more: Path) -> dict[str, float | None]:
        measured = eh.measure(folder / "texts.csv", classifiers=[classifier], **more)
        return dict(measured.tables()["groups"].select("group", "rate").rows())

    people = rates(f"people={folder}/labels.jsonl?question=label&negative=negative")
    by_hand = {
        group: [said[item] for item, its in zip(items["item"], groups, strict=True) if its["group"] == group]
        for group in people
    }
    assert people == {group: pytest.approx(100 * sum(all_) / len(all_)) for group, all_ in by_hand.items()}
    plain = rates(LEXICON)
    corrected = rates(LEXICON, classifier_error=folder / "errors.csv")
    assert people["woman"] - plain["woman"] > 10
    assert corrected["woman"] == pytest.approx(people["woman"], abs=5)
