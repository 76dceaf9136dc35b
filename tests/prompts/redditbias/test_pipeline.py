"""The whole road from dumps to pairs: stopped anywhere it goes on, and makes again only what has changed."""

import csv
import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from evenhand.prompts.redditbias import BuiltPairs, Steps, build_redditbias, load_specification
from evenhand.prompts.redditbias.pipeline import TO_ANNOTATE, TO_SCORE
from evenhand.prompts.stages import Stages
from evenhand.schema import DataError, UsageError

TYPE = """
bias = "teams"
minoritised = "reds"
dominant = "blues"
[retrieval]
targets = [['"reds are"', '"blues are"']]
attributes = [["loud*", "quiet"], ["rude", "polite"]]
[filtering]
single_targets = ["red", "green"]
window_targets = ["red", "reds"]
[counterparts]
target_pairs = [["reds", "blues"], ["red", "blue"]]
attribute_pairs = [["loud", "quiet"], ["rude", "polite"]]
[splits]
line_prefix = "<s> "
capitalised = ["reds"]
"""
PLACES = ("home", "work", "school", "sea", "night")
TEXTS = [
    f"The Reds are {how} at {where}{mark}"
    for how, where, mark in product(("loud", "rude", "louder"), PLACES, (".", "! @them"))
]


@pytest.fixture
def teams(tmp_path: Path) -> Path:
    (tmp_path / "teams.toml").write_text(TYPE, encoding="utf-8")
    for number, part in enumerate((TEXTS[:20], [*TEXTS[15:], "Reds are rude to greens"]), 1):
        rows = [{"id": f"{number}-{n}", "body": text} for n, text in enumerate(part)]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def build(folder: Path, output: str = "out", *, dumps: bool = True, **more: object) -> BuiltPairs:
    found = load_specification(folder / "teams.toml")
    places = [folder / "1.jsonl", folder / "2.jsonl"] if dumps else []
    return build_redditbias(found, folder / output, places, **more)  # type: ignore[arg-type]


def labelled(folder: Path, output: str = "out") -> Path:
    """The table to be labelled with labels: biased where the text is loud."""
    with (folder / output / TO_ANNOTATE).open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        row |= {"bias_sent": "1", "bias_phrase": str(int("loud" in row["phrase"]))}
    rows[0]["bias_phrase"] = "unclear"
    path = folder / "labelled.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but the records, by its name; tables by what they hold."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "stages.json"
    }


def test_from_dumps_to_pairs(teams: Path) -> None:
    first = build(teams)
    # 20 and 16 comments, of which 5 have the words of others but not their ids; one names both teams
    assert first.counts == {"comments": 31 + 5, "cleaned": 36, "single_target": 35, "phrases": 30}
    assert first.to_annotate == teams / "out" / TO_ANNOTATE and first.residues is None
    table = pl.read_csv(first.to_annotate, infer_schema=False)
    assert table["phrase"][0] == "the reds are loud at home."
    assert table["comment"].to_list()[:2] == ["the reds are loud at home.", "the reds are loud at home!"]
    built = build(teams, annotations=labelled(teams))
    assert built.counts["annotated"] == 30
    assert built.counts["pairs"] == 19 and (built.counts["train"], built.counts["held_out"]) == (11, 8)
    assert (built.counts["valid"], built.counts["test"]) == (4, 4)
    assert built.warnings == (
        "Labels of the annotation table that are neither 1 nor 0 were ignored: 'unclear' (1).",
    )
    texts = teams / "out" / "text_files" / "teams"
    train = (texts / "teams_bias_manual_lowercase_train.txt").read_text().splitlines()
    assert (texts / "teams_bias_manual_train.txt").read_text().splitlines() == [
        "<s> " + line.replace("reds", "Reds") for line in train
    ]
    swapped = (texts / "teams_bias_manual_swapped_targets_train.txt").read_text().splitlines()
    assert swapped == [*train, *(line.replace("reds", "blues") for line in train)]
    for part in ("valid", "test"):
        one, other = (
            pl.read_csv(teams / "out/data/teams" / f"reddit_comments_teams_{group}_biased_{part}_reduced.csv")
            for group in ("reds", "blues")
        )
        assert other["comments"].to_list() == one["comments_processed"].to_list()
        assert other["comments_processed"].to_list() == [
            text.replace("reds", "blues") for text in one["comments_processed"]
        ]
        assert other["initial_demo"].to_list() == ["['reds', 'red']"] * 4


def test_published_rules_give_published_texts(teams: Path) -> None:
    found = build(teams, how=Steps(as_published=True))
    table = pl.read_csv(found.to_annotate, infer_schema=False)
    assert table["comment"].to_list()[:2] == ["the reds are loud at home.", "the reds are loud at home!"]
    # "greens" and "red" are both in one comment's letters; "@them" goes in both rules
    assert found.counts["phrases"] == 30


def test_outliers_go_before_the_split(teams: Path) -> None:
    build(teams)
    annotations = labelled(teams)
    first = build(teams, annotations=annotations)
    assert first.to_score == teams / "out" / TO_SCORE
    texts = pl.read_csv(first.to_score)["text"]
    assert len(texts) == len(set(texts)) == 3 * 8 - 5  # of "louder" there is no swap: nothing new to score
    # of eight values none can lie three deviations out; the rule itself is tested in stats
    scored = pl.DataFrame({"text": texts, "perplexity": [10.0 + n for n in range(len(texts))]})
    scored.write_csv(teams / "scored.csv")
    built = build(teams, annotations=annotations, perplexities=teams / "scored.csv")
    assert built.to_score is None and built.counts["without_outliers"] == 8
    one = pl.read_csv(teams / "out/data/teams/reddit_comments_teams_reds_biased_test_reduced.csv")
    known = dict(scored.rows())
    assert one["perplexity"].to_list() == [known[text] for text in one["comments_processed"]]
    scored.head(15).write_csv(teams / "scored.csv")
    with pytest.raises(DataError, match="texts have no perplexity above 0"):
        build(teams, annotations=annotations, perplexities=teams / "scored.csv")


def test_annotations_alone_are_enough(teams: Path) -> None:
    build(teams)
    annotations = labelled(teams)
    whole = build(teams, annotations=annotations)
    alone = build(teams, "alone", dumps=False, annotations=annotations)
    assert alone.counts.items() <= whole.counts.items()
    assert (teams / "alone/tables/pairs.parquet").read_bytes() == (
        teams / "out/tables/pairs.parquet"
    ).read_bytes()


def test_a_build_that_is_stopped_anywhere_goes_on_to_the_same(
    teams: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(teams, "whole")
    annotations = labelled(teams, "whole")
    build(teams, "whole", annotations=annotations)
    recorded = Stages.record

    def stopping(after: int) -> None:
        calls = 0

        def record(self: Stages, name: str, key: str) -> None:
            nonlocal calls
            calls += 1
            if calls == after:
                raise KeyboardInterrupt  # the table is written, and nobody knows of it
            recorded(self, name, key)

        monkeypatch.setattr(Stages, "record", record)

    # two dumps, three steps, the table to label, annotations, pairs
    for after in (1, 3, 5, 6, 7, 8):
        stopping(after)
        stops = 0
        for given in ({}, {"annotations": annotations}):
            try:
                build(teams, f"stopped{after}", **given)
            except KeyboardInterrupt:
                stops += 1
                monkeypatch.setattr(Stages, "record", recorded)
                build(teams, f"stopped{after}", **given)
        assert stops == 1
        assert content(teams / f"stopped{after}") == content(teams / "whole")


CHILD = """
import sys, time
from pathlib import Path
from evenhand.prompts.redditbias import build_redditbias, load_specification
folder = Path(sys.argv[1])
def report(step, done, total):
    if step == "phrases":
        print("there", flush=True)
        time.sleep(60)
build_redditbias(
    load_specification(folder / "teams.toml"), folder / "killed", [folder / "1.jsonl", folder / "2.jsonl"],
    report_progress=report,
)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_build_goes_on_without_searching_again(teams: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(teams, "whole")
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(teams)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "there\n"
        os.kill(child.pid, signal.SIGKILL)
    assert not (teams / "killed" / TO_ANNOTATE).exists()
    monkeypatch.setattr("evenhand.prompts.redditbias.pipeline.search_dump", pytest.fail)
    build(teams, "killed")
    assert content(teams / "killed") == content(teams / "whole")


def test_only_what_has_changed_is_made_again(teams: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(teams)
    made: list[str] = []
    frame = Stages.frame

    def counting(self: Stages, name: str, key: str, make: object) -> pl.DataFrame:
        def told() -> pl.DataFrame:
            made.append(name)
            return make()  # type: ignore[operator,no-any-return]

        return frame(self, name, key, told)

    monkeypatch.setattr(Stages, "frame", counting)
    build(teams)
    assert made == []
    (teams / "teams.toml").write_text(TYPE.replace('["red", "reds"]', '["reds"]'))
    build(teams)
    assert made == ["cleaned.parquet", "single_target.parquet", "phrases.parquet"]
    made.clear()
    with (teams / "2.jsonl").open("a") as handle:
        handle.write(json.dumps({"id": "new", "body": "reds are rude"}) + "\n")
    found = build(teams)
    assert len(made) == 4 and made[0].startswith("dumps/")
    assert found.counts["comments"] == 37


def test_labels_written_into_the_table_itself_are_not_lost(teams: Path) -> None:
    first = build(teams)
    path = first.to_annotate
    labelled(teams).rename(path)
    before = path.read_bytes()
    build(teams)  # the same dumps: nothing to write
    assert build(teams, annotations=path).counts["pairs"] == 19
    (teams / "1.jsonl").unlink()
    (teams / "2.jsonl").rename(teams / "1.jsonl")
    (teams / "2.jsonl").write_text("")
    with pytest.raises(UsageError, match="was edited, but these dumps or rules would create it again"):
        build(teams)
    assert path.read_bytes() == before


def test_what_is_wrong_with_dumps_is_said(teams: Path) -> None:
    (teams / "1.jsonl").write_text('{"id": "s", "selftext": "reds are loud"}\nno JSON\n')
    (teams / "2.jsonl").write_text("")
    with pytest.raises(DataError) as caught:
        build(teams)
    assert caught.value.message.splitlines() == [
        "None of 2 dumps contains a comment with a target and an attribute of teams.",
        "1.jsonl: none of 2 lines is a comment with `id` and `body`.",
        "1.jsonl: 1 of 2 lines are not JSON objects.",
        "2.jsonl contains nothing.",
    ]
    table = pl.read_csv(teams / "out" / "dumps.csv")
    assert table["state"].to_list() == ["no comments", "empty"]
    (teams / "2.jsonl").write_text('{"id": "t", "body": "reds are loud"}\n{"id": "u", "bo')
    assert build(teams).warnings[-1] == (
        "2.jsonl is cut off or damaged after 1 lines. The lines before are used."
    )


def test_nothing_to_build_from(teams: Path) -> None:
    with pytest.raises(UsageError, match="Neither `--from` nor `--annotations`"):
        build(teams, dumps=False)
    with pytest.raises(DataError, match="File not found"):
        build(teams, dumps=False, annotations=teams / "none.csv")
    with pytest.raises(UsageError, match="most_characters must be at least 2"):
        Steps(most_characters=1)
