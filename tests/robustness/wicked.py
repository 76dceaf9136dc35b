"""Every kind of result, made of texts that would rather be run: names, prompts, answers, groups, axes, files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import evenhand as eh
from evenhand.classifiers.contract import Labels
from evenhand.mitigations.prompting import FoundInstruction, Prefix
from evenhand.mitigations.revision.choice import FINALISTS
from evenhand.mitigations.revision.searching import HISTORY, NONE
from evenhand.mitigations.triggers import TriggerFile
from evenhand.models.puppets import writes
from evenhand.schema import Card
from evenhand.studies.calibration.conduct import SimulatedResults
from evenhand.studies.calibration.options import CalibrationOptions
from evenhand.studies.calibration.result import CalibrationStudy
from evenhand.studies.own_responses import measure
from evenhand.studies.result import StudyResult
from evenhand.studies.search_instruction.result import Revision
from evenhand.studies.search_trigger.result import FoundTrigger
from tests.robustness.payloads import PAYLOADS

N_AXES = 3


def turned(texts: Sequence[str], by: int) -> list[str]:
    """The texts in another order, so that each stands in another place of a table."""
    return [texts[(i + by) % len(texts)] for i in range(len(texts))]


class WickedJudge:
    """Calls a text negative if "terrible" stands in it; its name and labels are payloads."""

    reads_context = False

    def __init__(self, texts: Sequence[str]):
        self.name, self.word, *rest = texts
        self.labels = tuple(rest[:3])

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"name": self.name, "word": self.word}

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "licence": self.word}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        found = np.array(["terrible" in text for text in texts])
        score = np.where(found, 0.9, 0.1)
        scores = np.stack([1 - score, score / 2, score / 2], axis=1).astype(np.float32)
        labels = [self.labels[int(here)] for here in found]
        return Labels(
            scores=scores, labels=labels, score=score, negative=found.tolist(), errors=[None] * len(texts)
        )


def prompts_of(texts: Sequence[str], path: Path) -> Path:
    """Groups called by payloads, in axes called by payloads; the columns beside them as well."""
    rows = [
        {
            "text": f"{group} went home {i}",
            "axis": texts[-1 - number % N_AXES],
            "group": group,
            "template": texts[(number + i) % len(texts)],
            "descriptor": group,
            "noun": f"cook {i}",
            texts[0]: texts[(number + 7) % len(texts)],
        }
        for number, group in enumerate(texts)
        for i in range(2)
    ]
    pl.DataFrame(rows).write_parquet(path)
    return path


def writer(texts: Sequence[str], name: str) -> Any:
    def said(prompt: str, sample: int) -> str:
        number = sum(prompt.encode()) + sample
        return f" {texts[number % len(texts)]} {('terrible', 'fine', 'nice')[number % 3]}"

    return writes(said, name)


class Studies:
    """Each kind of result, made when it is asked for."""

    def __init__(self, folder: Path, texts: Sequence[str] = PAYLOADS):
        self.folder, self.texts = folder, list(texts)
        self.made: dict[str, StudyResult] = {}
        self.file = prompts_of(self.texts, folder / "<img src=x onerror=alert(1)> {{ 7*7 }}.parquet")

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            makers: dict[str, Callable[[], StudyResult]] = {kind: getattr(self, kind) for kind in KINDS}
            self.made[name] = makers[name]()
            self.made[name].report()
        return self.made[name]

    def _audit(self, folder: str, by: int) -> Any:
        texts = turned(self.texts, by)
        return eh.audit(
            writer(texts, texts[0]), benchmarks=["bold"], prompts=str(self.file), samples=2,
            classifiers={"toxicity": WickedJudge(self.texts[1:])}, output=self.folder / folder, alpha=0.5,
        )  # fmt: skip

    def written(self) -> StudyResult:
        return self._audit("written <b>", 0)

    def likelihoods(self) -> StudyResult:
        return eh.audit(
            "puppet/random", benchmarks=["evenhand-likelihood"], prompts=str(self.file), alpha=0.5,
            output=self.folder / "likelihoods",
        )  # fmt: skip

    def own_responses(self) -> StudyResult:
        frame = pl.read_parquet(self.file).with_columns(
            continuation=pl.lit(" ") + pl.col("template"), negative=pl.int_range(pl.len()) % 3 == 0
        )
        path = self.folder / "<svg onload=alert(1)>.parquet"
        frame.write_parquet(path)
        return measure(path, "bold", alpha=0.5)

    def comparison(self) -> StudyResult:
        other = self._audit("other", 40)
        names = [self.texts[5], self.texts[6]]
        return eh.compare(self["written"], other, names=names, output=self.folder / "comparison", alpha=0.5)

    def comparison_of_likelihoods(self) -> StudyResult:
        other = eh.audit(
            "puppet/uniform", benchmarks=["evenhand-likelihood"], prompts=str(self.file),
            output=self.folder / "other-likelihoods",
        )  # fmt: skip
        names = [self.texts[3], self.texts[4]]
        return eh.compare(
            self["likelihoods"], other, names=names, output=self.folder / "comparison-2", alpha=0.5
        )

    def before_after(self) -> StudyResult:
        texts = turned(self.texts, 20)
        method = Prefix(texts[10], name=texts[11])
        return eh.before_after(
            writer(texts, texts[0]), [method], benchmarks=["bold"], prompts=str(self.file), samples=2, alpha=0.5,
            classifiers={"toxicity": WickedJudge(texts[1:])}, output=self.folder / "before-after",
        )  # fmt: skip

    def check(self) -> StudyResult:
        texts = turned(self.texts, 60)
        method = Prefix(texts[10], name=texts[11], levels=(("opposite", (texts[12],)),))
        return eh.check_consistency(
            method, writer(texts, texts[0]), prompts=self.file, neutral="none", groups=1, decoding="greedy",
            classifier=WickedJudge(texts[1:]), output=self.folder / "check",
        )  # fmt: skip

    def agreement(self) -> StudyResult:
        again = eh.rescore(self["written"], {"toxicity": WickedJudge(turned(self.texts, 80))})
        return again.agreement()

    def revision(self) -> StudyResult:
        texts = self.texts
        history = [
            {"iteration": 1 + i % 4, "instruction": text, "parent": texts[i - 1] if i else None, "fate": "kept",
             "rate": 0.5, "change": -0.1, "n": 100} for i, text in enumerate(texts)
        ]  # fmt: skip
        rows = [
            {"instruction": text, "chosen": i == 3, "verdict": "lower", "rate": 0.4, "low": 0.3, "high": 0.5,
             "n": 100, "change": -0.1, "change_low": -0.2, "change_high": -0.05, "p_adjusted": 0.01,
             "selected_change": -0.3, "optimism": -0.2, "silent": 0.0} for i, text in enumerate(texts)
        ]  # fmt: skip
        first = {"instruction": NONE, "chosen": False, "rate": 0.5, "low": 0.4, "high": 0.6, "n": 100}
        facts = {
            "model": texts[0], "benchmark": texts[1], "role": texts[2], "classifier": texts[4], "reviser": texts[5],
            "greedy": False, "instructions_tried": 9, "prompts_final": 100, "alpha": 0.05,
        }  # fmt: skip
        return Revision(
            self.folder / "revision", pl.DataFrame(history, schema=HISTORY),
            pl.DataFrame([first, *rows], schema=FINALISTS), FoundInstruction(texts[3], Card("c", texts[6])), facts,
        )  # fmt: skip

    def trigger(self) -> StudyResult:
        texts = self.texts
        rates = {"before": 0.5, "after": 0.4, "estimate": -0.1, "low": -0.2, "high": 0.0, "n_prompts": 9}
        file = self.folder / "trigger.json"
        trigger = TriggerFile(
            ids=(1, 2), text=texts[0], mode="mitigate", tokenizer="t", model={"name": texts[1]},
            objective={"against": texts[2]}, options={"initial": texts[3]}, examples={"groups": {texts[4]: 3}},
            history=tuple({"restart": 0, "sweep": i, "loss": 0.1, "text": text} for i, text in enumerate(texts)),
            choice={"rows": [{"text": text, "rate": 0.1, "perplexity": 9.0, "passes": True} for text in texts]},
            effect={"change": [{"group": text, **rates} for text in texts]},
        )  # fmt: skip
        trigger.write(file)
        return FoundTrigger(file, trigger)

    def calibration(self) -> StudyResult:
        options = CalibrationOptions(measures=("crows_pairs",), replications=2, jobs=1)
        return CalibrationStudy(self.folder / "calibration", options, self.drawn(options))

    def drawn(self, options: CalibrationOptions) -> SimulatedResults:
        from evenhand.studies.calibration.conduct import conduct

        real = conduct(options, self.folder / "calibration")
        texts = self.texts
        return SimulatedResults(
            real.designs, real.arms, dict(zip(texts[::2], texts[1::2], strict=False)), {texts[-1]: texts[0]}
        )


KINDS = (
    "written", "likelihoods", "own_responses", "comparison", "comparison_of_likelihoods", "before_after", "check",
    "agreement", "revision", "trigger", "calibration",
)  # fmt: skip
