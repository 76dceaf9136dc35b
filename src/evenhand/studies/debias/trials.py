"""A search: one training per setting, each in a separate folder, and the choice of one of them as the model.

The values of all trials are kept, but only the weights of the chosen one. If another guard leads to a trial without
weights, it is trained again (on a CPU with identical weights).
"""

import copy
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    BIAS,
    CURVES,
    PERPLEXITY,
    Diverged,
    TrainableModel,
    drop_checkpoints,
    method_options,
    model_card,
    read_curves,
    read_lineage,
)
from evenhand.runs import Progress, hold_lock, resumable
from evenhand.schema import (
    VERSION,
    EvenhandError,
    as_json,
    is_file,
    is_folder,
    read_json,
    split_options,
    write_json,
    write_text,
)
from evenhand.studies.debias.choosing import WEIGHT, Choice, Tried, choose, chosen_on, cost, pareto_front
from evenhand.studies.debias.options import DebiasConfig
from evenhand.studies.debias.record import RECORD
from evenhand.studies.debias.shown import trials_of
from evenhand.studies.debias.space import described, plain, told as in_words
from evenhand.studies.debias.training import TRAINING, DebiasStudy, Ground, finished, record_of, train_into
from evenhand.studies.result import StudyResult

SEARCH = "search"
"""Within the folder: the trials."""
TRIAL = "trial.json"
"""In a trial's folder, once it has ended: what it showed."""
NUMBERS = (RECORD.file, "lineage.json", TRIAL, TRAINING)
"""Files that are kept of a trial that is not chosen."""


class NothingChosen(EvenhandError):
    """Raised if a search ends and no trial keeps perplexity within the guard. All numbers are stored, but there is no
    model.

    ``search`` has the trials, in the format of a model's lineage. ``shown`` is the same result, ready to be printed;
    its page is already written.
    """

    exit_code = 3

    def __init__(self, message: str, hint: str, search: Mapping[str, Any]):
        super().__init__(message, hint)
        self.search = search
        self.shown: StudyResult | None = None


class NothingTrained(NothingChosen):
    """No trial of a search resulted in a model."""

    exit_code = 1


def search_into(
    output: Path, config: DebiasConfig, base: TrainableModel, ground: Callable[[], Ground], progress: Progress
) -> DebiasStudy:
    """Search with the options, or resume the search in a folder.

    Raises NothingChosen, NothingTrained, and as `train_into`.
    """
    searched = {"kind": config.search, "over": described(config.space), "trials": len(config.settings())}
    choosing = {"choose": config.choose, "guard": config.guard}
    record = as_json({**record_of(config, base), "search": searched, "choosing": choosing})
    done = finished(output) if RECORD.is_in(output) else None

    def compared(stored: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if done is None:  # without a choice so far, the criterion may still change
            stored = {**stored, "choosing": record["choosing"]} if "choosing" in stored else stored
        return stored, record

    there = is_folder(output) and any(output.iterdir())
    if there:
        RECORD.begin(output, {"evenhand": VERSION, RECORD.part: record}, compared, renewed=done is None)
        if done is not None:
            return done
    go_on = f"The same command resumes the stopped trial ({output})."
    with resumable(go_on, "The search was stopped."):
        if not there:  # nothing is written for a search that cannot start
            ground()
            RECORD.begin(output, {"evenhand": VERSION, RECORD.part: record}, compared)
        with hold_lock(output / "lock"):
            if (done := finished(output)) is not None:  # finished by another process in the meantime
                return done
            return _Search(config, base, ground, output, progress, searched).run()


@dataclass(frozen=True)
class _Search:
    """One session of a search."""

    config: DebiasConfig
    base: TrainableModel
    ground: Callable[[], Ground]
    output: Path
    progress: Progress
    searched: Mapping[str, Any]

    def run(self) -> DebiasStudy:
        """Run the remaining trials, choose one, and make it the model."""
        settings = self.config.settings()
        width = max(2, len(str(len(settings))))
        trials: list[Tried] = []
        before: dict[str, float | None] = {}
        for number, setting in enumerate(settings, 1):
            self.progress.note(f"trial {number} of {len(settings)}: {in_words(setting)}")
            trial, found = self._tried(f"{number:0{width}}", setting)
            before = before or found
            trials.append(trial)
            self.progress.note(_outcome(trial, before))
            self._tidy(trials, self._choice(trials, before))
        choice = self._choice(trials, before)
        if choice.nearest is None:
            raise self._nothing_trained(trials, before)
        best = trials[choice.nearest]
        control = self._control(best, trials)
        if choice.chosen is None:
            raise self._nothing_chosen(best, trials, before, control)
        search = self._told(trials, before, control, best)
        made = self._made(best, search)
        self._tidy(trials, Choice(None, None))
        return made

    def _choice(self, trials: Sequence[Tried], before: Mapping[str, float | None]) -> Choice:
        return choose(trials, before, self.config.choose, self.config.guard)

    def _tried(self, name: str, setting: Mapping[str, Any]) -> tuple[Tried, dict[str, float | None]]:
        """Return a trial and the values of the original model: read from its folder if it has ended, otherwise run."""
        folder = self.output / SEARCH / name
        if not is_file(folder / TRIAL):
            try:
                lineage = self._trained(name, setting).lineage
            except Diverged as error:
                reason = error.message.split(". ")[0]  # the rest mentions a checkpoint, which is deleted
                ended: dict[str, Any] = {"watched": {"before": {}, "after": {}}, "failed": reason}
            else:
                values = [lineage["watched"]["after"].get(name) for name in (BIAS, PERPLEXITY)]
                failed = None if None not in values else "the bias or the perplexity is not a finite number"
                ended = {"watched": lineage["watched"], "failed": failed}
            write_json(folder / TRIAL, as_json({"setting": setting, **ended}))
        stored = read_json(folder / TRIAL, f"Delete the folder {folder}: the trial is then repeated.")
        watched = stored["watched"]
        return Tried(name, setting, watched["after"], stored["failed"]), watched["before"]

    def _trained(self, name: str, setting: Mapping[str, Any]) -> DebiasStudy:
        return train_into(
            self.output / SEARCH / name,
            self.config.of_trial(setting),
            self.base,
            self.ground,
            self.progress,
            model=lambda: copy.deepcopy(self.base.model),
        )

    def _control(self, best: Tried, trials: Sequence[Tried]) -> Tried | None:
        """Return the trial with the debiasing term at weight 0; None for a method without such a term."""
        if WEIGHT not in method_options(split_options(self.config.method)[0]):
            return None
        setting = {**best.setting, WEIGHT: 0.0}
        if (there := next((one for one in trials if one.setting == setting), None)) is not None:
            return there
        self.progress.note(f"training the control of trial {best.name}: {in_words(setting)}")
        control, _ = self._tried(f"{best.name}-control", setting)
        if not self.config.keep_trials:
            _drop_weights(self.output / SEARCH / control.name)
        return control

    def _tidy(self, trials: Sequence[Tried], choice: Choice) -> None:
        """Delete the weights of all trials except the one that would be chosen now."""
        if not self.config.keep_trials:
            for number, trial in enumerate(trials):
                if number not in (choice.chosen, choice.nearest):
                    _drop_weights(self.output / SEARCH / trial.name)

    def _made(self, best: Tried, search: Mapping[str, Any]) -> DebiasStudy:
        """Return the study of the folder in which the chosen trial has become the model."""
        folder = self.output / SEARCH / best.name
        if not is_file(folder / "config.json"):
            self.progress.note(f"trial {best.name} is trained again: its weights were not kept")
            self._trained(best.name, best.setting)
        lineage = {**(read_lineage(folder) or {}), "search": search}
        write_json(self.output / "lineage.json", lineage)
        write_text(self.output / "README.md", model_card(lineage, self.output))
        curves = (folder / TRAINING / CURVES).read_text(encoding="utf-8")
        write_text(self.output / TRAINING / CURVES, curves)
        files = [path for path in folder.iterdir() if _is_of_model(path) and path.name != "README.md"]
        # this file shows that the folder is complete
        for path in sorted(files, key=lambda path: path.name == "config.json"):
            target = self.output / path.name
            if target.is_dir():
                shutil.rmtree(target)
            if not self.config.keep_trials:
                os.replace(path, target)
            elif path.is_dir():
                shutil.copytree(path, target)
            else:
                shutil.copyfile(path, target)
        return DebiasStudy(self.output, lineage, read_curves(self.output / TRAINING / CURVES))

    def _told(
        self,
        trials: Sequence[Tried],
        before: Mapping[str, float | None],
        control: Tried | None,
        chosen: Tried | None,
    ) -> dict[str, Any]:
        """Return the whole search as plain data."""
        texts = chosen_on(self.config.choose)
        own = Tried("base", {}, before)
        named = [(one.value(texts + PERPLEXITY), one.value(texts + BIAS)) for one in (*trials, own)]
        front = pareto_front(named)
        rows = [
            {**_row(one, before, texts), "on_front": on_front}
            for one, on_front in zip(trials, front[:-1], strict=True)
        ]
        told: dict[str, Any] = as_json(
            {
                **self.searched,
                "seed": self.config.seed,
                "choose": self.config.choose,
                "guard": self.config.guard,
                "chosen": chosen.name if chosen else None,
                "failed": sum(one.failed is not None for one in trials),
                "base": {**before, "on_front": front[-1]},
                "control": None if control is None else _row(control, before, texts),
                "tried": rows,
            }
        )
        return told

    def _nothing_trained(self, trials: Sequence[Tried], before: Mapping[str, float | None]) -> EvenhandError:
        failed = [one for one in trials if one.failed]
        if not failed:
            return NothingChosen(
                "All trials have weight 0: they are controls, and none is chosen.",
                "Give other weights.",
                self._told(trials, before, None, None),
            )
        return NothingTrained(
            f"No trial produced a model. Error of the first: {failed[0].failed}.",
            "Search lower learning rates or weights, in another folder.",
            self._told(trials, before, None, None),
        )

    def _nothing_chosen(
        self,
        nearest: Tried,
        trials: Sequence[Tried],
        before: Mapping[str, float | None],
        control: Tried | None,
    ) -> EvenhandError:
        times = cost(nearest, before)
        return NothingChosen(
            f"None of {trials_of(len(trials))} has a perplexity of neutral texts of at most {self.config.guard:g} "
            f"times the model's. Nearest: trial {nearest.name} ({in_words(nearest.setting)}) with {times:.4g} times "
            f"and a bias of {nearest.value(BIAS):.3g} instead of {before[BIAS]:.3g}.",
            f"All numbers are stored. The same command with --guard {_above(times)} accepts it. Or search lower "
            "learning rates or weights, in another folder.",
            self._told(trials, before, control, None),
        )


def _row(one: Tried, before: Mapping[str, float | None], texts: str) -> dict[str, Any]:
    return {
        "trial": one.name,
        "setting": {name: plain(value) for name, value in one.setting.items()},
        "watched": one.watched,
        "times_perplexity": cost(one, before, texts),
        "failed": one.failed,
    }


def _outcome(one: Tried, before: Mapping[str, float | None]) -> str:
    if one.failed is not None:
        return f"trial {one.name} failed: {one.failed}"
    return (
        f"trial {one.name}: bias {one.value(BIAS):.3g}, perplexity {cost(one, before):.4g} times the model's"
    )


def _above(times: float) -> str:
    """Return a guard that a trial satisfies, with few digits."""
    return f"{-(-times * 1000 // 10) / 100:.2f}"


def _is_of_model(path: Path) -> bool:
    return path.name not in NUMBERS and not path.name.startswith("lock")


def _drop_weights(folder: Path) -> None:
    """Delete a trial's model; config.json first, because its presence means that the model is complete."""
    if not is_folder(folder):
        return
    files = [path for path in folder.iterdir() if _is_of_model(path)]
    for path in sorted(files, key=lambda path: path.name != "config.json"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    drop_checkpoints(folder / TRAINING)
