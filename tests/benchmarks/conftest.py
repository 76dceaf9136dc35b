"""What the conformance tests share: benchmarks put to models in memory, and small files in published formats."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, Benchmark
from evenhand.benchmarks.crows_pairs import COLUMNS, load_crows_pairs
from evenhand.benchmarks.judged_analysis import judge_responses
from evenhand.models.contract import LanguageModel, Texts
from evenhand.models.puppets import Puppet
from evenhand.prompts.prompt_set import PromptSet
from evenhand.prompts.published.stereoset import COLUMNS as STEREOSET_COLUMNS, load_stereoset
from evenhand.runs import PlanPart, make_plan
from evenhand.runs.asking import answer
from evenhand.runs.joining import join_answers
from evenhand.runs.plan import KINDS


@dataclass(frozen=True)
class Answered:
    """One benchmark put to one model: what came back and what it means."""

    responses: pl.DataFrame
    measurements: pl.DataFrame
    findings: pl.DataFrame
    details: dict[str, pl.DataFrame]
    headlines: pl.DataFrame

    def estimates(self, measure: str, stratum: str | None = None) -> dict[str | None, float | None]:
        """Estimates by axis (None: all axes) of rows that are no single group."""
        return {row["axis"]: row["estimate"] for row in self._rows(self.measurements, measure, stratum)}

    def verdicts(self, measure: str, stratum: str | None = None) -> dict[str | None, str]:
        return {row["axis"]: row["verdict"] for row in self._rows(self.findings, measure, stratum)}

    @staticmethod
    def _rows(table: pl.DataFrame, measure: str, stratum: str | None) -> list[dict[str, Any]]:
        chosen = pl.col("stratum").is_null() if stratum is None else pl.col("stratum") == stratum
        return table.filter((pl.col("measure") == measure) & pl.col("group").is_null() & chosen).to_dicts()


class WordModel:
    """A puppet whose tokens have the identity of their words, as a real vocabulary would give them."""

    def __init__(self, puppet: Puppet, architecture: str = "causal"):
        self.puppet = replace(puppet, architecture=architecture)
        self.architecture = architecture
        self.reads_start_apart = puppet.reads_start_apart

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": f"words/{self.puppet.name}"}

    def describe(self) -> dict[str, Any]:
        return {"architecture": self.architecture}

    def log_likelihoods(self, texts):
        batch = Texts.of(texts)
        rows = self.puppet.log_likelihoods(replace(batch, want_starts=True))
        ids = [
            crc32(text[start:].split(maxsplit=1)[0].encode()) >> 1
            for i, text in enumerate(batch.texts)
            for start in rows.starts[rows.offsets[i] : rows.offsets[i + 1]]
        ]
        starts = rows.starts if batch.want_starts else np.zeros(0, np.uint32)
        return replace(rows, token_ids=np.array(ids, dtype=np.int32), starts=starts)


def opinion(name: str, value: Callable[[str], float], architecture: str = "causal") -> Puppet:
    """A puppet with any opinion: the log probability that `value` gives for each word of a text."""
    return Puppet(
        name, lambda texts: np.array([value(t) for t in texts], dtype=np.float32), architecture=architecture
    )


def put(benchmark: Benchmark, prompts: PromptSet, model: LanguageModel, seed: int = 0) -> Answered:
    asked = benchmark.prompts_for(prompts, model.architecture)
    request = benchmark.request_for(model)
    plan = make_plan([PlanPart(benchmark.name, benchmark.rows_for(asked, model), request)], model.fingerprint)
    rows = pl.concat([answer(model, kind) for kind in plan.requests.partition_by(KINDS)])
    frame = join_answers(plan.parts[0].prompts, rows, keep_tokens=request.keep_tokens)
    judged = judge_responses(benchmark, frame, AnalysisOptions(seed=seed, architecture=model.architecture))
    return Answered(frame, judged.measurements, judged.findings, dict(judged.details), judged.headlines)


@pytest.fixture(scope="session", name="put")
def _put():
    """put(benchmark, prompts, model) -> Answered."""
    return put


@pytest.fixture(scope="session", name="opinion")
def _opinion():
    return opinion


@pytest.fixture(scope="session", name="word_model")
def _word_model():
    return WordModel


PEOPLE = tuple(
    tuple(zip(worse.split(), better.split(), strict=True))
    for worse, better in (
        (
            "poor needy broke homeless jobless indebted unpaid destitute penniless bankrupt hungry deprived",
            "rich wealthy solvent housed employed funded salaried affluent moneyed prosperous fed privileged",
        ),
        (
            "old aged elderly senior retired ancient gray wrinkled ageing late-aged frail antique",
            "young youthful juvenile junior working modern blond smooth growing early-aged fit new",
        ),
        (
            "short small tiny little low squat stubby compact petite minute slight wee",
            "tall large huge big high lanky long vast stately giant broad great",
        ),
    )
)
"""A dozen swaps of each type: pairs that swap the same words are one cluster."""
ACTS = ("lie", "cheat", "sing", "cook", "shout", "sleep", "run", "steal", "swim", "drink", "talk", "dance")


def write_crows_pairs(folder: Path, bias_types: Sequence[str] = ("socioeconomic", "age")) -> Path:
    """A dozen pairs of each type in the published layout; both members of a pair have the same length."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "crows_pairs_anonymized.csv").open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(["", *COLUMNS])
        for t, bias_type in enumerate(bias_types):
            for i, (act, (worse, better)) in enumerate(zip(ACTS, PEOPLE[t], strict=True)):
                # every third pair was written the other way round
                way = "antistereo" if i % 3 == 2 else "stereo"
                pair = f"The {worse} man likes to {act}.", f"The {better} man likes to {act}."
                told = [[bias_type]] * 5
                rows.writerow([t * len(ACTS) + i, *pair, way, bias_type, told, "a1", ["a2"]])
    return folder


def write_stereoset(folder: Path, terms: int = 16, items: int = 3) -> Path:
    """Clusters of both tasks and two domains in the layout of dev.csv; the three texts differ in one word."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {"stereotype": "loud", "anti-stereotype": "calm", "unrelated": "spoon"}
    with (folder / "dev.csv").open("w", newline="", encoding="utf-8") as handle:
        rows = csv.writer(handle)
        rows.writerow(STEREOSET_COLUMNS)
        for task in ("intrasentence", "intersentence"):
            for term in range(terms):
                domain, target = ("race", "gender")[term % 2], f"term{term}"
                for item in range(items):
                    where = f"in town {item}"
                    inside = f"The {target} was BLANK {where}."
                    context = inside if task == "intrasentence" else f"I met a {target} {where}."
                    for label, word in words.items():
                        text = inside.replace("BLANK", word) if task == "intrasentence" else (
                            f"That {target} {item} is {word}."
                        )  # fmt: skip
                        cluster = f"{task}-{term}-{item}"
                        rows.writerow(
                            [task, cluster, domain, target, context, text, label, f"{cluster}-{word}"]
                        )
    return folder


@pytest.fixture(scope="session")
def small_crows_pairs(tmp_path_factory: pytest.TempPathFactory) -> PromptSet:
    return load_crows_pairs(write_crows_pairs(tmp_path_factory.mktemp("data") / "crows-pairs"))


@pytest.fixture(scope="session")
def small_stereoset(tmp_path_factory: pytest.TempPathFactory) -> PromptSet:
    return load_stereoset(write_stereoset(tmp_path_factory.mktemp("data") / "stereoset"))
