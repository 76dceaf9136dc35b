"""The training loop that all methods share: it minimises an objective and can be resumed after a kill.

The order of examples, dropout and the learning rate depend only on seed and step. A resumed training therefore ends
with the same weights as an uninterrupted one (on accelerators, up to rounding).

On several devices (`accelerate launch -m evenhand debias ...`), each process reads `batch_size` examples at a time,
and one step covers those of all processes.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from evenhand.mitigations.training.checkpoints import (
    BEST,
    CHECKPOINT,
    Position,
    read_checkpoint,
    read_weights,
    trainable_weights,
    write_checkpoint,
    write_weights,
)
from evenhand.mitigations.training.curves import CURVES, CurveWriter, read_curves
from evenhand.mitigations.training.examples import Batch, Examples
from evenhand.mitigations.training.objective import Diverged, Objective
from evenhand.mitigations.training.options import TrainingOptions
from evenhand.mitigations.training.preparing import import_package
from evenhand.runs import refuse_differences
from evenhand.schema import DataError, ModelError, UsageError, as_json
from evenhand.weights import is_out_of_memory

Evaluate = Callable[[Any], Mapping[str, float]]
"""Values of a model that is being trained; called in eval mode, without gradients."""
Windows = list[list[list[int]]]
"""Rows of the examples in each batch of each step."""


@dataclass(frozen=True)
class TrainingResult:
    """Result of a training. The model itself was changed in place.

    Attributes
    ----------
    steps : int
        Total number of optimiser steps.
    curves : polars.DataFrame
        Monitored values; see `read_curves`.
    best_step : int
        Step whose weights the model has: the best one with early stopping, otherwise the last.
    stopped_early : bool
        True if training stopped for lack of improvement.
    batch_size : int
        Final number of examples per batch. It is reduced if memory runs out.
    devices : int
        Number of processes that trained together.
    """

    steps: int
    curves: pl.DataFrame
    best_step: int
    stopped_early: bool
    batch_size: int
    devices: int


def train(
    model: Any,
    examples: Examples,
    objective: Objective,
    options: TrainingOptions,
    folder: Path | str,
    *,
    pad: int = 0,
    device: str = "auto",
    evaluate: Evaluate | None = None,
    watched: str | None = None,
    decided: Mapping[str, Any] | None = None,
    note: Callable[[str], None] = lambda message: None,
    of_epoch: Callable[[int], Examples] | None = None,
) -> TrainingResult:
    """Train a model in place, or resume a stopped training.

    `model` is a torch module, whose parameters with gradients are trained (see `prepared_model`). `objective` is the
    loss. `folder` has checkpoint and curves; a training that was started there is resumed. `pad` is the token with
    which shorter examples are padded. `of_epoch` returns the examples of an epoch (from 0), if epochs differ. `note` is
    called with messages for the user.

    `evaluate` returns values of the model for the curves, every `options.evaluate_every` steps. `watched` names the
    value for early stopping: training stops after `options.patience` evaluations without a smaller one, and the best
    weights are restored. `decided` is other data that must be equal for a training to be resumed.

    Raises ResumeRefused if the folder has a training with other options or data, Diverged if the loss is no longer
    finite, a ModelError if memory is not sufficient for a single example, and a WriteError.

    >>> import tempfile
    >>> from evenhand.mitigations.training import LanguageModelling, encode_texts, prepared_model
    >>> from evenhand.models import load_model
    >>> base = load_model("evenhand/reference", device="cpu")
    >>> texts = encode_texts(base.tokenizer, ["I admire you.", "Good morning."] * 4, longest=8)
    >>> options = TrainingOptions(epochs=3, batch_size=4)
    >>> done = train(prepared_model(base.model, options), texts, LanguageModelling(), options, tempfile.mkdtemp(),
    ...              device="cpu")
    >>> losses = done.curves.filter(name="lm")["value"]
    >>> done.steps, losses[-1] < losses[0]
    (6, True)
    """
    if options.patience is not None and (evaluate is None or watched is None):
        raise UsageError("patience requires evaluate and watched.", "Add them, or remove patience.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    session = _TrainingSession(
        model, examples, objective, options, folder, pad, device, evaluate, watched, note, of_epoch
    )
    with _own_randomness():
        return session.run({**options.deciding(), "examples": examples.digest(), **(decided or {})})


class _TrainingSession:
    """One session of a training."""

    def __init__(
        self,
        model: Any,
        examples: Examples,
        objective: Objective,
        options: TrainingOptions,
        folder: Path,
        pad: int,
        device: str,
        evaluate: Evaluate | None,
        watched: str | None,
        note: Callable[[str], None],
        of_epoch: Callable[[int], Examples] | None,
    ):
        self.examples, self.objective, self.options = examples, objective, options
        self.of_epoch, self.epoch = of_epoch, 0
        self.folder, self.pad, self.evaluate, self.watched, self.note = folder, pad, evaluate, watched, note
        self.accelerator = _accelerator(device, options)
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(
            parameters,
            lr=options.learning_rate,
            betas=(options.beta1, options.beta2),
            eps=options.epsilon,
            weight_decay=options.weight_decay,
        )
        self.plain = model
        self.model, prepared = self.accelerator.prepare(model, optimizer)
        self.optimizer = prepared.optimizer
        self.position = Position()

    def run(self, decided: dict[str, Any]) -> TrainingResult:
        processes, checkpoint = self.accelerator.num_processes, self.folder / CHECKPOINT
        decided = {**decided, "processes": processes}
        if checkpoint.is_file():
            self.position = read_checkpoint(checkpoint, self.plain, self.optimizer)
            refuse_differences(
                f"The training in {self.folder}",
                self.position.decided,
                as_json(decided),
                "Use the options with which the training was started, or choose another folder with -o.",
            )
        self.position.decided = decided
        windows = plan_windows(len(self.examples), self.options, processes)
        if self.position.step > len(windows) or self.position.best_step > self.position.step:
            raise DataError(
                f"The checkpoint {checkpoint} has an impossible step: {self.position.step:,} of {len(windows):,}.",
                "Delete the checkpoint: training then starts from the beginning.",
            )
        self.epoch_steps = math.ceil(len(self.examples) / (self.options.rows_a_step * processes))
        self.curves = CurveWriter(self.folder / CURVES, self.position.step) if self._leads else None
        self.written = time.monotonic()
        self.steps = len(windows)
        while self.position.step < self.steps and not self.position.stopped:
            self._step(windows[self.position.step])
            due = self.position.step == self.steps or self.position.step % self._evaluate_every == 0
            if due and self.evaluate is not None:
                self._evaluate()
            last = self.position.step == self.steps or self.position.stopped
            if last or time.monotonic() - self.written >= self.options.checkpoint_seconds:
                self._write_checkpoint()
        if self.watched is not None and (self.folder / BEST).is_file():
            read_weights(self.folder / BEST, self.plain)
        self.accelerator.unwrap_model(self.model, keep_fp32_wrapper=False).eval()
        return TrainingResult(
            self.position.step,
            read_curves(self.folder / CURVES),
            self.position.best_step or self.position.step,
            self.position.stopped,
            max(1, self.options.batch_size >> self.position.halvings),
            processes,
        )

    @property
    def _leads(self) -> bool:
        return bool(self.accelerator.is_main_process)

    @property
    def _evaluate_every(self) -> int:
        return self.options.evaluate_every or self.epoch_steps

    def _step(self, window: list[list[int]]) -> None:
        """Do one step of the optimiser. If memory runs out, repeat it with half the batch size."""
        epoch = self.position.step // self.epoch_steps
        if self.of_epoch is not None and epoch != self.epoch:
            self.examples, self.epoch = self.of_epoch(epoch), epoch
        rate = self.options.rate(self.position.step, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        while True:
            torch.manual_seed(_seed(self.options.seed, self.position.step, self.accelerator.process_index))
            try:
                terms = self._gradients(window)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self._halve(error)
        total = sum(terms.values())
        norm = self._clip_gradient()
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise self._divergence_error(total, norm)
        self.optimizer.step()
        self.position.step += 1
        if self.curves is not None:
            found = {**terms, "loss": total, "gradient_norm": norm, "learning_rate": rate}
            self.curves.add(self.position.step, self.position.step / self.epoch_steps, "training", found)

    def _gradients(self, window: list[list[int]]) -> dict[str, float]:
        """Compute the gradients of a step, in smaller batches if memory ran out; return its weighted terms."""
        self.optimizer.zero_grad(set_to_none=True)
        accelerator, processes = self.accelerator, self.accelerator.num_processes
        factors = self._factors([self.examples.batch(rows, self.pad) for rows in window])
        mine = list(range(accelerator.process_index, len(window), processes))
        # a process without a batch must still take part, with a gradient of zero
        pieces = [piece for number in mine or [0] for piece in self._pieces(window[number], number)]
        found = {name: 0.0 for name in factors[0]}
        for place, (number, rows) in enumerate(pieces):
            batch = self.examples.batch(rows, self.pad).to(accelerator.device)
            last = place == len(pieces) - 1
            with nullcontext() if last else accelerator.no_sync(self.model), accelerator.autocast():
                sums = self.objective.sums(self.model, batch)
                share = {name: factors[number][name] * bool(mine) for name in found}
                loss = sum(
                    (share[name] * sums[name] for name in found), torch.zeros((), device=accelerator.device)
                )
                # processes average their gradients, but the sum is needed here
                accelerator.backward(loss * processes)
            for name in found:
                found[name] += share[name] * float(sums[name].detach())
        if processes > 1:
            together = torch.tensor(list(found.values()), device=accelerator.device)
            found = dict(zip(found, accelerator.reduce(together, "sum").tolist(), strict=True))
        return found

    def _factors(self, batches: list[Batch]) -> list[dict[str, float]]:
        """Return the factor of each term's sum, by batch: its weight divided by its size."""
        weights = [self.objective.weights(batch) for batch in batches]
        sizes = [self.objective.sizes(batch) for batch in batches]
        if self.objective.pooled:
            whole = {name: sum(size[name] for size in sizes) for name in weights[0]}
            return [{name: _over(weight[name], whole[name]) for name in weight} for weight in weights]
        return [
            {name: _over(weight[name], size[name]) / len(batches) for name in weight}
            for weight, size in zip(weights, sizes, strict=True)
        ]

    def _pieces(self, rows: list[int], number: int) -> Iterator[tuple[int, list[int]]]:
        size = max(1, self.options.batch_size >> self.position.halvings)
        for first in range(0, len(rows), size):
            yield number, rows[first : first + size]

    def _halve(self, error: BaseException) -> None:
        size = self.options.batch_size >> self.position.halvings
        if self.accelerator.num_processes > 1:
            raise ModelError(
                f"Not enough memory for {size} examples per batch on each of several devices.",
                "Halve batch_size and double accumulation. The steps remain the same.",
            ) from error
        if size <= 1:
            raise ModelError(
                "Not enough memory to train on a single example.",
                "Train adapters (--lora-rank 8), recompute activations (--gradient-checkpointing), or use shorter "
                "texts (--longest).",
            ) from error
        self.position.halvings += 1
        self.optimizer.zero_grad(set_to_none=True)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.note(
            f"Not enough memory: from now on, training uses {size // 2} examples at a time and "
            f"{2**self.position.halvings} times as many batches per step. The steps remain the same."
        )

    def _clip_gradient(self) -> float:
        most = math.inf if self.options.clip is None else self.options.clip
        return float(self.accelerator.clip_grad_norm_(self.model.parameters(), most))

    def _divergence_error(self, total: float, norm: float) -> Diverged:
        what = f"the loss is {total}" if not math.isfinite(total) else f"the gradient's norm is {norm}"
        if (checkpoint := self.folder / CHECKPOINT).is_file():
            kept = f"The last good checkpoint is kept in {checkpoint}."
        else:
            kept = "No checkpoint had been written."
        return Diverged(
            f"Training stopped at step {self.position.step + 1} of {self.steps}: {what}. {kept}",
            "Lower the learning rate or the weight of the debiasing term, or clip the gradient, in another folder.",
        )

    def _evaluate(self) -> None:
        assert self.evaluate is not None
        self.model.eval()
        with torch.no_grad():
            found = {name: float(value) for name, value in self.evaluate(self.plain).items()}
        position = self.position
        if self.curves is not None:
            self.curves.add(position.step, position.step / self.epoch_steps, "validation", found)
        if self.watched is None:
            return
        value = found[self.watched]
        if math.isfinite(value) and (position.best is None or value < position.best):
            position.best, position.best_step, position.since_best = value, position.step, 0
            if self._leads:
                write_weights(self.folder / BEST, self.plain)
        else:
            position.since_best += 1
            position.stopped = (
                self.options.patience is not None and position.since_best >= self.options.patience
            )

    def _write_checkpoint(self) -> None:
        if not all(bool(torch.isfinite(value).all()) for value in trainable_weights(self.plain).values()):
            raise self._divergence_error(math.nan, math.nan)
        if self.curves is not None:
            self.curves.flush()
            write_checkpoint(self.folder / CHECKPOINT, self.plain, self.optimizer, replace(self.position))
        self.written = time.monotonic()


def plan_windows(n: int, options: TrainingOptions, processes: int = 1) -> Windows:
    """Return which examples are read in each step. The order of an epoch depends only on the seed and the epoch.

    n: number of examples. The last step of an epoch may have fewer examples, and the last epoch may be incomplete.

    >>> [[len(batch) for batch in window] for window in plan_windows(5, TrainingOptions(batch_size=2, accumulation=2,
    ...                                                                             epochs=1.5))]
    [[2, 2], [1], [2, 1]]
    """
    windows: Windows = []
    for epoch in range(math.ceil(options.epochs)):
        order = np.random.default_rng([options.seed, epoch]).permutation(n).tolist()
        order = order[: math.ceil(min(1.0, options.epochs - epoch) * n)]
        batches = [order[i : i + options.batch_size] for i in range(0, len(order), options.batch_size)]
        a_step = options.accumulation * processes
        windows += [batches[i : i + a_step] for i in range(0, len(batches), a_step)]
    return windows


def _over(weight: float, size: float) -> float:
    return weight / size if size else 0.0


def _seed(seed: int, step: int, process: int) -> int:
    return int(np.random.SeedSequence([seed, step, process]).generate_state(1, np.uint64)[0] >> 1)


def _accelerator(device: str, options: TrainingOptions) -> Any:
    accelerate = import_package("accelerate")
    from accelerate.state import AcceleratorState

    from evenhand.weights import resolve_device

    if os.environ.get("WORLD_SIZE", "1") == "1":
        # accelerate would keep the settings of an earlier training; transformers resets them in this way, too
        AcceleratorState._reset_state(reset_partial_state=True)
    resolved = resolve_device(device)
    if resolved.type == "cuda" and resolved.index is not None:
        torch.cuda.set_device(resolved)
    return accelerate.Accelerator(
        cpu=resolved.type == "cpu", mixed_precision="bf16" if options.precision == "bfloat16" else "no"
    )


@contextmanager
def _own_randomness() -> Iterator[None]:
    """Restore the caller's random state afterwards, so that training does not change it."""
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        yield
