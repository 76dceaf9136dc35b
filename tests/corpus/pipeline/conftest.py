"""A small corpus on disk, the terms it is counted by, and the work of counting it in many ranks."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.corpus import build_terms
from evenhand.corpus.counting import CountingOptions
from evenhand.corpus.pipeline import CorpusWork, divide_pieces
from evenhand.corpus.reading import ReadingOptions, pieces

SAID = "the of and her his they she he we you women men Asian deaf white wall teacher friend people saw met"
WORDS = SAID.split()


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six files of JSON lines of two corpora, with a broken line in each."""
    folder = tmp_path_factory.mktemp("corpus")
    draw = random.Random(0)
    for number in range(6):
        texts = [" ".join(draw.choices(WORDS, k=draw.randint(5, 40))) + "." for _ in range(40)]
        lines = [json.dumps({"text": text}) for text in texts]
        lines.insert(draw.randint(0, 40), "{broken")
        (folder / f"part-{number}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def work(corpus: Path, tmp_path: Path) -> Callable[..., CorpusWork]:
    """work(rank_bytes=...) -> Work, its counts kept in a new folder."""

    def made(rank_bytes: int = 5000, name: str = "ranks", **reading: object) -> CorpusWork:
        sources = [f"first={corpus}/part-[0-3].jsonl", f"second={corpus}/part-[45].jsonl"]
        found = pieces(sources, largest=rank_bytes)
        return CorpusWork(
            build_terms(["pronouns"]),
            tuple(divide_pieces(found, rank_bytes)),
            ReadingOptions(**reading),  # type: ignore[arg-type]
            CountingOptions(),
            str(tmp_path / name),
        )

    return made
