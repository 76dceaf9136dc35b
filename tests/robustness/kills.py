"""Every verb that writes, what is done to it, and what must be left: the harness of `test_kills.py`."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import polars as pl

from tests.conftest import SHARED
from tests.helpers.terms import TEAMS
from tests.robustness import bad_files

NUMBERS = {"KILL": signal.SIGKILL, "TERM": signal.SIGTERM, "INT": signal.SIGINT}
VICTIM = Path(__file__).with_name("victim.py")
WARM = (
    "torch", "transformers", "vaderSentiment.vaderSentiment", "safetensors.torch", "filelock", "httpx",
    "evenhand.cli.app", "evenhand.reference.embedded", "evenhand.models.huggingface.causal", "evenhand.catalogue",
    "evenhand.studies.audit.result", "evenhand.studies.before_after.result", "evenhand.studies.consistency.result",
    "evenhand.studies.search_instruction.result", "evenhand.studies.search_trigger.result",
    "evenhand.studies.calibration.result", "evenhand.prompts.advpromptset.build",
    "evenhand.prompts.holisticbias.sentences", "evenhand.studies.agreement.result", "accelerate", "peft",
    "evenhand.studies.debias.result", "evenhand.studies.redditbias.result", "evenhand.cli.studies.redditbias",
    "evenhand.prompts.counterfactual.tables", "evenhand.prompts.redditbias.pipeline",
    "evenhand.mitigations.training.trainer",
)  # fmt: skip
"""What commands import; nothing of it makes a thread, which a fork would lose."""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"), "1")
OF_THE_SITTING = {
    "manifest", "cost", "sessions", "created", "seconds", "model", "runs", "timings", "prompts", "neutral", "texts",
    "calls",
}  # fmt: skip
"""Keys of JSON files that say when, where and how fast, which two uninterrupted runs do not share."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its code is negative where a signal ended it."""

    code: int
    out: str
    err: str
    seconds: float


class Commands:
    """Runs commands in forks of a warm process, and strikes them from outside."""

    def __init__(self, folder: Path, warm: Sequence[str] = WARM):
        self.folder = folder
        environment = {
            **os.environ,
            **ONE_THREAD,
            "EVENHAND_CACHE": str(folder / "cache"),
            "HF_HUB_OFFLINE": "1",
        }
        self.environment = environment | {"EVENHAND_DATA": str(folder / "data"), "COLUMNS": "100"}
        self.served = subprocess.Popen(
            [sys.executable, str(VICTIM), *warm], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=self.environment,
        )  # fmt: skip
        self._heard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.served.communicate(timeout=30)

    def run(
        self,
        folder: Path,
        *arguments: object,
        moment: dict[str, Any] | None = None,
        strikes: Sequence[tuple[float, signal.Signals]] = (),
        alone: bool = False,
        group: bool = False,
    ) -> Ended:
        """Run a command in a folder. moment: as `victim.arm` takes it. strikes: pauses in seconds, each with the signal
        that is sent after it. alone: in a process of its own, which imports everything itself. group: a
        signal goes to all processes of the command, as from a terminal."""
        out, err = self.folder / "out.txt", self.folder / "err.txt"
        order = {
            "folder": str(folder), "arguments": [str(one) for one in arguments], "out": str(out), "err": str(err),
            "moment": moment,
        }  # fmt: skip
        began = time.monotonic()
        if alone:
            process = subprocess.Popen(
                [sys.executable, str(VICTIM), "alone", json.dumps(order)], env=self.environment
            )
            with striking(process.pid, strikes, group):
                code = process.wait(120)
        else:
            assert self.served.stdin
            self.served.stdin.write(json.dumps(order) + "\n")
            self.served.stdin.flush()
            with striking(self._heard()["pid"], strikes, group):
                code = self._heard()["code"]
        seconds = time.monotonic() - began
        return Ended(code, out.read_text(), err.read_text(errors="replace"), seconds)

    def _heard(self) -> dict[str, Any]:
        assert self.served.stdout
        line = self.served.stdout.readline()
        assert line, "the process that serves commands has died"
        heard: dict[str, Any] = json.loads(line)
        return heard


@contextmanager
def striking(process: int, strikes: Sequence[tuple[float, signal.Signals]], group: bool) -> Iterator[None]:
    over = threading.Event()

    def strike() -> None:
        for pause, number in strikes:
            if over.wait(pause):
                return
            try:
                (os.killpg if group else os.kill)(process, number)
            except ProcessLookupError:
                return

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@dataclass(frozen=True)
class Verb:
    """A command that writes. prepare: puts into the folder what it needs. again: the command that goes on, if the
    folder `study` is there; the same by default."""

    command: tuple[object, ...]
    prepare: Callable[[Path, "Commands"], object] = field(default=lambda folder, commands: None)
    again: tuple[object, ...] = ()
    begun: str = "study"
    """Where it has begun, `again` goes on."""
    needs: Path | None = None
    """Without which it is skipped."""

    def next_command(self, folder: Path) -> tuple[object, ...]:
        return self.again if self.again and (folder / self.begun).is_file() else self.command


def frames(folder: Path) -> dict[str, pl.DataFrame]:
    """All tables below a folder by path; the parts of a growing table as one, sorted, since shards may differ."""
    tables: dict[str, pl.DataFrame] = {}
    for path in sorted(folder.rglob("*.parquet")):
        name = re.sub(r"part-\d+", "parts", path.relative_to(folder).as_posix())
        table = pl.read_parquet(path)
        tables[name] = pl.concat([tables[name], table]) if name in tables else table
    for name, table in tables.items():
        if name.endswith("parts.parquet"):
            tables[name] = table.sort([c for c in ("request_id", "text_id", "sample") if c in table.columns])
    return tables


def numbers(folder: Path) -> dict[str, Any]:
    """What JSON, JSON lines and CSV files say, without what belongs to the sitting."""
    told: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".csv", ".jsonl"):
            told[name] = path.read_bytes()
        elif path.suffix == ".json" and path.name != "manifest.json":
            told[name] = lasting(json.loads(path.read_text()))
    return told


def weights(folder: Path) -> dict[str, bytes]:
    """The bytes of all weights: of models, adapters, and checkpoints."""
    paths = sorted(folder.rglob("*.safetensors"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def lasting(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: lasting(value) for key, value in content.items() if key not in OF_THE_SITTING}
    return [lasting(one) for one in content] if isinstance(content, list) else content


def files(folder: Path) -> set[str]:
    """Every file below a folder; a part of a growing table without its number."""
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return {re.sub(r"part-\d+", "parts", path) for path in paths}


def assert_same(killed: Path, whole: Path) -> None:
    """Tables, numbers and files are those of an uninterrupted run, and nothing was asked twice."""
    assert files(killed) == files(whole)
    mine, others = frames(killed), frames(whole)
    assert mine.keys() == others.keys()
    for name, table in mine.items():
        keys = [column for column in ("request_id", "text_id", "sample") if column in table.columns]
        if name.endswith("parts.parquet"):
            assert table.select(keys).is_unique().all(), f"{name}: something was asked twice"
        assert table.equals(others[name]), name
    theirs = numbers(whole) | weights(whole)
    for name, told in (numbers(killed) | weights(killed)).items():
        assert told == theirs[name], name


def prompts_file(path: Path, people: Sequence[str], openings: Sequence[str], *, group: bool = True) -> None:
    rows = [
        {"text": f"{opening} {who} people because they are"} | ({"group": who} if group else {})
        for who in people
        for opening in openings
    ]
    pl.DataFrame(rows).write_csv(path)


OPENINGS = tuple(
    f"{who} {verb}"
    for who in ("I", "We", "They", "You")
    for verb in ("love", "like", "hate", "met", "saw", "know")
)


def own_prompts(folder: Path, commands: Commands) -> None:
    prompts_file(folder / "wild.csv", ("deaf", "tall"), OPENINGS, group=False)
    prompts_file(folder / "calm.csv", ("short", "kind"), OPENINGS, group=False)
    prompts_file(folder / "prompts.csv", ("deaf", "tall"), OPENINGS[:6])
    said = [("kind", "positive"), ("rude", "negative")]
    pl.DataFrame(
        [
            {
                "text": "I love deaf people because they are",
                "continuation": f" {word}.",
                "group": "deaf",
                "label": label,
            }
            for word, label in said
        ]
    ).write_csv(folder / "examples.csv")


def model_and_texts(folder: Path, commands: Commands) -> None:
    """A small model that reads long lines, terms of one's own, and texts with them."""
    bad_files.make_model(folder / "model", longest=512)
    (folder / "terms.toml").write_text(TEAMS)
    texts = [f"In town {i} the reds are {how}." for i in range(30) for how in ("loud", "rude")]
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text in texts))


def comments(folder: Path, commands: Commands) -> None:
    """Dumps of comments, terms, and labels of the phrases in them."""
    (folder / "terms.toml").write_text(TEAMS)
    letters = "abcdefghijkl"
    for name in ("one", "two"):
        said = [
            f"The reds are {how} at {name} {letter}{letter}" for how in ("loud", "rude") for letter in letters
        ]
        rows = [json.dumps({"id": f"{name}{n}", "body": text}) for n, text in enumerate(said)]
        (folder / f"{name}.jsonl").write_text("".join(f"{row}\n" for row in rows))
        os.utime(folder / f"{name}.jsonl", (1e9, 1e9))  # by which dumps are told apart
    labels = [
        {
            "comment": f"the reds are {how} in {letter}",
            "phrase": f"the reds are {how} in {letter}",
            "bias_sent": 1,
            "bias_phrase": 1,
        }
        for how in ("loud", "rude")
        for letter in letters
    ]
    pl.DataFrame(labels).write_csv(folder / "labelled.csv")


def people(folder: Path, commands: Commands) -> None:
    prompts_file(folder / "texts.csv", [f"woman {i}, a sister of" for i in range(200)], OPENINGS)


def audited(folder: Path, commands: Commands) -> None:
    """A finished run to judge anew: made once, then copied."""
    kept = commands.folder / "audited"
    if not kept.is_dir():
        kept.mkdir()
        ended = commands.run(kept, *AUDIT)
        assert ended.code == 0, ended.err
    shutil.copytree(kept / "study", folder / "study")


def downloads(folder: Path, commands: Commands) -> None:
    """The two Jigsaw downloads in small, and a table of terms."""
    from tests.prompts.advpromptset.test_build import write_jigsaw

    write_jigsaw(folder, 60)
    (folder / "terms.csv").write_text("term,identity\nwoman,female\nlads,male\nchurchy,christian\n")


WRITING = ("-b", "regard", "--samples", 2, "--max-new-tokens", 5, "--classifier", "vader", "--limit", 24)
AUDIT = ("audit", "evenhand/reference", *WRITING, "-o", "study")
DEBIAS = (
    "debias", "model", "--specification", "terms.toml", "--data", "texts.txt", "--batch-size", 4, "--longest", 60,
    "--device", "cpu", "--set", "checkpoint_seconds=0", "-o", "study",
)  # fmt: skip
VERBS = {
    "audit": Verb(AUDIT, again=("audit", "study"), begun="study/manifest.json"),
    "rescore": Verb(("rescore", "study", "--classifier", "evenhand/lexicon-toxicity"), audited),
    "before-after": Verb(
        ("before-after", "evenhand/reference", *WRITING, "--mitigate", "prefix=Be kind.", "-o", "study"),
        again=("before-after", "study"),
        begun="study/before-after-options.json",
    ),
    "check-consistency": Verb(
        (
            "check-consistency", "instructive-debiasing", "--model", "evenhand/reference", "--prompts", "wild.csv",
            "--neutral", "calm.csv", "--groups", 1, "--classifier", "vader", "--decoding", "greedy",
            "--max-new-tokens", 4,
            "-o", "study",
        ),
        own_prompts,
        again=("check-consistency", "study"),
        begun="study/study.json",
    ),
    "search-instruction": Verb(
        (
            "search-instruction", "evenhand/reference", "-b", "regard", "--classifier", "vader", "--iterations", 2,
            "--keep", 2, "--variants", 1, "--subset", 10, "--final", 10, "--samples", 1,
            "--max-new-tokens", 4, "-o", "study",
        ),
        again=("search-instruction", "study"),
        begun="study/revision.json",
    ),
    "search-trigger": Verb(
        (
            "search-trigger", "evenhand/reference", "--prompts", "prompts.csv", "--examples", "examples.csv",
            "--classifier", "vader", "--tokens", 2, "--restarts", 2, "--sweeps", 3, "--candidates", 6, "--samples", 2,
            "--max-new-tokens", 5, "--device", "cpu", "-o", "trigger.json",
        ),
        own_prompts,
    ),
    "data build": Verb(("data", "build", "evenhand", "-o", "own.csv")),
    "data build advpromptset": Verb(
        ("data", "build", "advpromptset", "--from", ".", "--terms", "terms.csv", "--size", 6, "-o", "set.jsonl"),
        downloads,
    ),
    "debias": Verb((*DEBIAS, "-m", "lmd?weight=2"), model_and_texts),
    "debias adapters": Verb((*DEBIAS, "-m", "cda", "--lora-rank", 2), model_and_texts),
    "study redditbias": Verb(
        (
            "study", "redditbias", "model", "-b", "race", "--from", SHARED / "data" / "redditbias", "-m", "cda",
            "--epochs", 0.05, "--device", "cpu", "-o", "study",
        ),
        model_and_texts,
        again=("study", "redditbias", "study"),
        begun="study/redditbias.json",
        needs=SHARED / "data" / "redditbias",
    ),
    "data counterfactuals": Verb(
        ("data", "counterfactuals", "texts.csv", "--axis", "gender", "--to", "male", "-o", "other.jsonl"), people
    ),
    "data build redditbias": Verb(
        (
            "data", "build", "redditbias", "--bias", "terms.toml", "--from", "one.jsonl", "--from", "two.jsonl",
            "--annotations", "labelled.csv", "-o", "study",
        ),
        comments,
    ),
    "calibrate": Verb(
        ("calibrate", "crows_pairs", "--replications", 4, "-j", 1, "-o", "study", "--summary", "told.json")
    ),
}  # fmt: skip


CALLS = ("replace", True), ("replace", False), ("fsync", True), ("fsync", False)
"""Right before and after a rename, and around the flush of a temporary file that is not renamed yet."""


def kills(rng: random.Random, seconds: float, calls: int) -> Iterator[dict[str, Any]]:
    """Without end: at a random time, and at the calls of CALLS.

    seconds, calls: how long a command takes, and how many files it renames.
    """
    while True:
        for call, before in CALLS:
            yield {"strikes": [(rng.uniform(0, seconds), signal.SIGKILL)]}
            count = rng.randint(1, calls)
            yield {"moment": {"call": call, "count": count, "before": before, "signal": "KILL"}}


def stops(rng: random.Random, seconds: float, calls: int) -> Iterator[dict[str, Any]]:
    """Without end: Ctrl-C and SIGTERM at random times and at the calls of CALLS; some come twice."""
    either = (signal.SIGTERM, signal.SIGINT)
    while True:
        for (call, before), gap, kind in zip(CALLS, (0.0, 0.05, 0.3, 0.7), ("TERM", "INT") * 2, strict=True):
            at = rng.uniform(0, seconds)
            yield {"strikes": [(at, rng.choice(either)), (gap, rng.choice(either))]}
            count = rng.randint(1, calls)
            yield {"moment": {"call": call, "count": count, "before": before, "signal": kind}}
