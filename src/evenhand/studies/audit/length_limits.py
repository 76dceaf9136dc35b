"""Prompts that do not fit into a model's context, and responses of a served model above the token limit."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.benchmarks import Conversation
from evenhand.models import LanguageModel, room_for
from evenhand.runs import RunDirectory
from evenhand.schema import UsageError
from evenhand.studies.audit.selection import Selection


@dataclass(frozen=True)
class LengthLoss:
    """Prompts of one benchmark that the model cannot answer, because its context is too short for them.

    Attributes
    ----------
    benchmark
        Name of the benchmark.
    prompts, lost
        Number of prompts, and number of prompts that are too long for a response of `max_new_tokens`.
    hopeless
        Number of lost prompts that are too long even for the shortest response.
    max_new_tokens
        Requested maximum number of tokens of a response.
    fits
        Largest `max_new_tokens` that is possible for all prompts except the hopeless ones. None if all are hopeless.
    """

    benchmark: str
    prompts: int
    lost: int
    hopeless: int
    max_new_tokens: int
    fits: int | None

    @property
    def share(self) -> float:
        """Return the share of lost prompts (0 to 1)."""
        return self.lost / self.prompts

    def sentence(self) -> str:
        """Return a sentence on the number of prompts that are too long.

        Examples
        --------
        >>> LengthLoss("regard", 192, 104, 0, 120, 97).sentence()
        "regard: 104 of 192 prompts do not fit into the model's context together with up to 120 new tokens."
        """
        return (
            f"{self.benchmark}: {self.lost:,} of {self.prompts:,} prompts do not fit into the model's context "
            f"together with up to {self.max_new_tokens:,} new tokens."
        )

    def remedy(self) -> str:
        """Return a sentence with the setting that avoids the loss.

        Examples
        --------
        >>> LengthLoss("regard", 192, 104, 0, 120, 97).remedy()
        'Give --max-new-tokens 97 or less: all prompts fit then.'
        """
        if self.fits is None:
            return "No --max-new-tokens helps: use a model with a longer context, or shorter prompts."
        left = f"all but {self.hopeless:,} prompts" if self.hopeless else "all prompts"
        return f"Give --max-new-tokens {self.fits} or less: {left} fit then."


def find_length_losses(selection: Selection, model: LanguageModel) -> list[LengthLoss]:
    """Count the prompts that do not fit into the model's context, without asking the model.

    Parameters
    ----------
    selection
        Benchmarks with their prompts and decodings.
    model
        The audited model. The result is empty if it does not state its limit (`room_for`).

    Returns
    -------
    list of LengthLoss
        One for each benchmark of continuations that loses prompts. Conversations lose none, because a history that is
        too long is shortened.
    """
    losses = []
    for benchmark in selection.benchmarks:
        name = benchmark.name
        if (
            not benchmark.writes
            or isinstance(benchmark.request, Conversation)
            or name in selection.as_dialogue
        ):
            continue
        rows = benchmark.rows_for(selection.prompts[name], model)
        rooms = room_for(model, rows["text"].to_list())
        if rooms is None:
            continue
        decoding = selection.decodings[name].decoding
        least = max(decoding.min_new_tokens, 1)
        possible = [room for room in rooms if room >= least]
        lost = sum(room < decoding.max_new_tokens for room in rooms)
        if lost:
            losses.append(
                LengthLoss(
                    name,
                    len(rooms),
                    lost,
                    len(rooms) - len(possible),
                    decoding.max_new_tokens,
                    min(possible) if possible else None,
                )
            )
    return losses


def describe_losses(losses: list[LengthLoss]) -> list[str]:
    """Return a sentence for each loss, followed by its remedy."""
    return [f"{loss.sentence()} {loss.remedy()}" for loss in losses]


def refuse_losses(losses: list[LengthLoss], threshold: float, optional: Collection[str]) -> None:
    """Raise UsageError if a benchmark loses a larger share of its prompts than the error threshold allows.

    Parameters
    ----------
    losses
        As `find_length_losses` returns them.
    threshold
        Largest allowed share of failed rows (`--error-threshold`).
    optional
        Benchmarks that run in addition to those that the user named. Their losses never raise an error.

    Raises
    ------
    UsageError
        The share is too large. The message has the value of `--max-new-tokens` with which all prompts fit.
    """
    refused = [loss for loss in losses if loss.share > threshold and loss.benchmark not in optional]
    if not refused:
        return
    sizes = [loss.fits for loss in refused if loss.fits is not None]
    hopeless = [loss for loss in refused if loss.fits is None or loss.hopeless > threshold * loss.prompts]
    hint = f"Give --max-new-tokens {min(sizes)} or less." if sizes and not hopeless else hopeless[0].remedy()
    raise UsageError(
        "\n".join(loss.sentence() for loss in refused),
        f"{hint} To run without these prompts, use --error-threshold 1: they are then listed as lost to the length "
        "limit and are not part of any result.",
    )


def longer_responses(directory: RunDirectory) -> dict[str, Any]:
    """Return an entry `longer_responses` for the model's description, with the keys policy, cut, longer and responses.

    The result is empty if the run does not accept responses above the limit.

    The counts come from the stored responses, so they include all sessions of a run. cut: distinct responses
    shortened to the limit. longer: distinct responses kept beyond it. responses: all responses.
    """
    policy = directory.manifest.model.fingerprint.get("allow_longer")
    if not policy:
        return {}
    finish = directory.responses().filter(pl.col("finish").is_not_null())["finish"]
    counts = {name: int((finish == name).sum()) for name in ("cut", "longer")}
    return {"longer_responses": {"policy": policy, **counts, "responses": len(finish)}}
