"""The steps in a datatrove pipeline of a user's own: behind another reader and a filter, and added up."""

import json
import pickle
from collections import Counter
from pathlib import Path

import pytest
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters import LambdaFilter
from datatrove.pipeline.readers import JsonlReader

from evenhand.corpus import (
    CorpusReader,
    CountsMerger,
    ReadingOptions,
    TermCounter,
    build_terms,
    divide_pieces,
    pieces,
    read_counts,
)
from evenhand.schema import DataError

HE = ("he", "his")


def hits(counts, group):
    return int(counts.groups.filter(group=group)["hits"].sum())


def test_the_counter_stands_behind_any_reader_and_filter(corpus: Path, tmp_path: Path) -> None:
    lines = (corpus / "part-0.jsonl").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines if line != "{broken"]
    (tmp_path / "in").mkdir()
    for number in range(2):
        rows = [json.dumps({"text": text}) for text in texts[number::2]]
        (tmp_path / f"in/{number}.jsonl").write_text("\n".join(rows))
    table = build_terms(["pronouns"])
    pipeline = [
        JsonlReader(str(tmp_path / "in"), compression=None),
        LambdaFilter(lambda document: "deaf" in document.text),
        TermCounter(table, str(tmp_path / "counts"), corpus="mine"),
    ]
    LocalPipelineExecutor(pipeline, tasks=2, workers=1, logging_dir=str(tmp_path / "logs")).run()
    merging = [CountsMerger(str(tmp_path / "counts"), 2, str(tmp_path / "sum.parquet"))]
    LocalPipelineExecutor(merging, tasks=1, workers=1, logging_dir=str(tmp_path / "merging")).run()
    counts = read_counts(tmp_path / "sum.parquet")
    kept = [text for text in texts if "deaf" in text]
    assert counts.totals["documents"].sum() == len(kept) > 3
    words = Counter(word.strip(".") for text in kept for word in text.split())
    assert hits(counts, "he") == sum(words[word] for word in HE)
    assert counts.totals["corpus"].unique().to_list() == ["mine"]
    with pytest.raises(DataError, match="2 of 3 ranks"):
        list(CountsMerger(str(tmp_path / "counts"), 3, str(tmp_path / "sum.parquet")).run())


def test_documents_pass_unchanged_and_a_task_without_any_has_counted(tmp_path: Path) -> None:
    table = build_terms(["pronouns"])
    counter = pickle.loads(pickle.dumps(TermCounter(table, str(tmp_path))))
    given = [Document(text, str(number), metadata={"n": number}) for number, text in enumerate("ab")]
    before = [(one.text, one.id, dict(one.metadata)) for one in given]
    passed = list(counter.run(iter(given), rank=0))
    assert [one is other for one, other in zip(passed, given, strict=True)] == [True, True]
    assert [(one.text, one.id, one.metadata) for one in passed] == before
    assert list(counter.run(iter([]), rank=1)) == []
    assert read_counts(tmp_path / "00001.parquet").totals.height == 0


def test_the_reader_deals_parts_to_tasks_and_tells_what_it_skips(corpus: Path) -> None:
    found = pieces([str(corpus / "*.jsonl")])
    reader = CorpusReader(divide_pieces(found, largest=1), ReadingOptions(sample=0.5))
    tasks = [list(reader.run(None, rank, 4)) for rank in range(4)]
    places = {document.id for task in tasks for document in task}
    assert len(places) == sum(map(len, tasks)) > 60
    first = tasks[0][0]
    assert first.metadata["corpus"] == corpus.name and first.id.endswith(f"#{first.metadata['place']}")
    told = reader.stats.stats
    assert told["not_sampled"].total + told["not_json"].total + len(places) == 246
