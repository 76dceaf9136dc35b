"""`evenhand frequencies ... --join RUN`: a corpus counted, and set beside what a model wrote about people."""

from pathlib import Path
from types import ModuleType

import pytest

from evenhand import audit
from tests.helpers import written_about
from tests.helpers.written_about import talker, written


def test_the_command_counts_joins_and_says_what_came_of_it(
    evenhand, tmp_path: Path, judged_house: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = written(0, 6_000)
    written_about.register(monkeypatch, corpus.lexicon)
    run = audit(talker(corpus.treatment(-1.5, 0)), benchmarks=["spoken-of"], output=tmp_path / "run")
    text = corpus.save(tmp_path / "made.txt")
    asked = ("frequencies", text, "-o", "counts", "--terms", "descriptors", "-w", "1")
    done = evenhand(*asked, "--join", run.path)
    assert done.code == 0, done.err
    done.says(
        "more frequent descriptors have lower toxicity", "related", "report: counts/joined/run/relation.html"
    )
    assert Path("counts/joined/run/relation.csv").is_file()
    evenhand("frequencies", "counts", "--join", tmp_path).refused(1, "it contains no manifest")
