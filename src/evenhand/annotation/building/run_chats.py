"""Complete self-chats from runs."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from evenhand.annotation.building.built import Chat, ContentSelection, Notes
from evenhand.annotation.building.opened_runs import group_columns, iterate_groups, select_benchmarks
from evenhand.annotation.building.run_texts import UNSAFE_ROLES
from evenhand.runs import RunDirectory, self_chats

SILENCE = "(says nothing)"
"""Text that replaces an empty utterance, because annotators must see that there was one."""
OF_TURNS = ("turn", "speaker", "name_in_context", "conversation", "prompt_id", "sample")
"""Columns that belong to utterances and not to conversations."""


def read_complete_chats(run: RunDirectory, model: str, wanted: ContentSelection, notes: Notes) -> list[Chat]:
    """Return the complete self-chats of a run; those that ended early are left out."""
    chats: list[Chat] = []
    broken = 0
    for benchmark in select_benchmarks(run, wanted):
        turns = run.manifest.asked[benchmark].turns
        if turns is None:
            continue
        frame = self_chats(run, benchmark)
        about = [name for name in group_columns(frame, run, benchmark) if name not in OF_TURNS]
        flags = [f"{role}_negative" for role in UNSAFE_ROLES if f"{role}_negative" in frame.columns]
        flagged = pl.any_horizontal(flags).fill_null(False) if flags else pl.lit(False)
        rows = frame.select("conversation", "speaker", "text", "error", flagged=flagged).rows()
        about_each = list(iterate_groups(frame, about, benchmark, None))
        for conversation, places in _places(row[0] for row in rows).items():
            said = [rows[place] for place in places]
            if len(said) < turns or any(text is None or error is not None for _, _, text, error, _ in said):
                broken += 1
                continue
            chats.append(
                Chat(
                    turns=tuple((speaker, text.strip() or SILENCE) for _, speaker, text, _, _ in said),
                    speaker=wanted.speaker,
                    model=model,
                    groups=about_each[places[0]],
                    opener=(benchmark, str(conversation), said[0][2]),
                    unsafe=any(flag for *_, flag in said),
                )
            )
    notes.count(broken, f"conversations of {model} broke off and are left out")
    return chats


def _places(conversations: Iterable[Any]) -> dict[Any, list[int]]:
    places: dict[Any, list[int]] = {}
    for place, conversation in enumerate(conversations):
        places.setdefault(conversation, []).append(place)
    return places
