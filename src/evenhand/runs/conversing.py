"""Conversations of a model with itself, in rounds: the requests of each round, and the final table.

A round requests the next utterance of every conversation. Each request is a normal one. Its text is the history that
the speaker knows, as one line (`evenhand.models.dialogue.History`). A run can therefore stop at any utterance and be
resumed.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from evenhand.models.dialogue import History
from evenhand.runs.cluster import run_where_loaded
from evenhand.runs.requests import ConversationRequest
from evenhand.schema import DataError

if TYPE_CHECKING:
    from evenhand.models import TextGenerator

HISTORY, SAID = "history", "said"
"""Columns of a planned utterance while it is requested: the speaker's history, and all utterances before it."""
TOLD = {"turn": pl.UInt16, "speaker": pl.String, "name_in_context": pl.Boolean}
"""Columns of each utterance, in addition to those of its conversation."""
PERSONAS = ("persona_a", "persona_b")
CONTEXT = "lines_before"
CONTEXT_LINES = 4
"""Maximum number of lines before an utterance that classifiers with contexts read."""
WRITTEN_HERE = frozenset({*TOLD, HISTORY, SAID, CONTEXT})


def plan_first_replies(
    benchmark: str, prompts: pl.DataFrame, request: ConversationRequest, speaker: "TextGenerator"
) -> pl.DataFrame:
    """Return the requests for the first reply of each conversation, one row per conversation.

    Parameters
    ----------
    benchmark : str
        Name for messages.
    prompts : polars.DataFrame
        `text` contains the openers, and `conversation` (text or number) is unique. Optional columns are `persona_a` and
        `persona_b` (lists of sentences).
    request : ConversationRequest
        The request.
    speaker : TextGenerator
        Model that replies. Its method `window(history, max_new_tokens)`, if any, returns whether it still reads the
        whole opener. A speaker without this method reads everything.

    Returns
    -------
    polars.DataFrame
        The columns of `prompts`, a `prompt_id` that ends in "/2", the columns TOLD, and HISTORY and SAID (not stored).

    Raises
    ------
    DataError
        Conversations are missing or repeated, personas are not lists of texts, or a column exists that this function
        writes.
    """
    where = f"The prompts of {benchmark!r}"
    if taken := sorted(WRITTEN_HERE & set(prompts.columns)):
        raise DataError(
            f"{where} have a column that is reserved for conversations: {', '.join(taken)}.",
            "Rename this column.",
        )
    numbers = prompts["conversation"] if "conversation" in prompts.columns else None
    if numbers is None or numbers.null_count() or numbers.n_unique() < prompts.height:
        what = (
            "no column conversation"
            if numbers is None
            else "conversations without a number or with one number"
        )
        raise DataError(
            f"{where} have {what}.", "Number or name each conversation in the column conversation."
        )
    for name in PERSONAS:
        if name in prompts.columns and not _are_sentences(prompts[name]):
            raise DataError(
                f"{where}: the column {name} must contain lists of sentences, but its type is "
                f"{prompts.schema[name]}.",
                "It contains a list of sentences about the speaker for each conversation; [] for no persona.",
            )
    rows = prompts.with_columns(pl.concat_list("text").alias(SAID), prompt_id=pl.format("{}/1", "prompt_id"))
    return _next_turn(rows, 2, request, speaker)


def plan_next_replies(
    rows: pl.DataFrame, responses: pl.DataFrame, request: ConversationRequest, speaker: "TextGenerator"
) -> pl.DataFrame:
    """Return the requests for the utterances after those of `rows` that succeeded; empty after the last turn.

    rows: at least one row of `plan_first_replies` or of this function, with request_id. responses: request_id, text,
    error. An empty reply is a valid utterance. A conversation ends after a failed one.
    """
    turn = int(rows["turn"][0]) + 1
    if turn > request.turns:
        return rows.clear()
    replies = responses.filter(pl.col("error").is_null()).select("request_id", reply="text")
    there = rows.join(replies, on="request_id", how="inner", maintain_order="left")
    there = there.with_columns(pl.concat_list(SAID, "reply").alias(SAID)).drop("reply", "request_id")
    return _next_turn(there, turn, request, speaker)


def sort_utterances(first: pl.DataFrame, rounds: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the utterances of all rounds in the order in which a run stores them: by conversation, then by turn."""
    places = first.select("conversation").with_row_index("place")
    rows = pl.concat([rows.drop(HISTORY, SAID) for rows in rounds])
    return rows.join(places, on="conversation", maintain_order="left").sort("place", "turn").drop("place")


def with_contexts(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the column `lines_before` to utterances: up to CONTEXT_LINES lines before each, which may include the opener.

    frame: conversation, turn, text (the opener), continuation; as from `sort_utterances`.

    >>> said = {"turn": [2, 3], "text": ["Hi!"] * 2, "continuation": ["Yes?", ""]}
    >>> frame = pl.DataFrame({"conversation": [7, 7], **said})
    >>> with_contexts(frame)["lines_before"].to_list()
    ['Hi!', 'Hi!\\nYes?']
    """
    turn = pl.col("turn").cast(pl.Int64)
    lines = [
        pl.when(turn - back == 1)
        .then("text")
        .when(turn - back > 1)  # otherwise it is another sample of the same reply
        .then(pl.col("continuation").shift(back).over("conversation"))
        for back in range(CONTEXT_LINES, 0, -1)
    ]
    return frame.with_columns(pl.concat_list(lines).list.drop_nulls().list.join("\n").alias(CONTEXT))


def list_utterances(frame: pl.DataFrame) -> pl.DataFrame:
    """Return conversations with one row per utterance, including the openers.

    frame: requested utterances, as `answers` returns them. The result has the same columns. Before each conversation
    there is a row of its opener (turn 1, speaker A) without values of the model or a classifier. `text` is the
    utterance, or null if it failed, which ends the conversation. `lines_before` has up to four lines before the
    utterance.

    >>> frame = pl.DataFrame({"prompt_id": ["c/2"], "conversation": [7], "name": ["Ann"], "turn": [2], "speaker": ["B"],
    ...     "name_in_context": [True], "text": ["Hi!"], "sample": [0], "continuation": ["Yes?"], "error": [None]})
    >>> list_utterances(frame).select("conversation", "name", "turn", "speaker", "text").rows()
    [(7, 'Ann', 1, 'A', 'Hi!'), (7, 'Ann', 2, 'B', 'Yes?')]
    """
    about = frame.columns[: frame.columns.index("sample")]
    openers = frame.filter(pl.col("turn") == 2).with_row_index("place")
    first = openers.select(
        "place",
        *(name for name in about if name not in (*TOLD, "prompt_id")),
        pl.col("prompt_id").str.replace(r"2$", "1"),
        pl.lit(1, frame.schema["turn"]).alias("turn"),
        pl.lit("A").alias("speaker"),
        pl.lit(True).alias("name_in_context"),
        pl.lit(0, frame.schema["sample"]).alias("sample"),
        pl.col("text").alias("continuation"),
    )
    replies = frame.join(openers.select("conversation", "place"), on="conversation", maintain_order="left")
    every = pl.concat([replies, first], how="diagonal").sort("place", "turn")
    return every.with_columns(text="continuation").select(frame.columns)


def _are_sentences(personas: pl.Series) -> bool:
    if personas.dtype != pl.List(pl.String) or personas.has_nulls():
        return False
    return not personas.list.eval(pl.element().is_null()).list.any().any()


@run_where_loaded
def _in_window(speaker: "TextGenerator", histories: Sequence[History], max_new_tokens: int) -> list[bool]:
    """Return for each history whether the speaker still reads its opener in full."""
    window = getattr(speaker, "window", None)
    return [window is None or bool(window(history, max_new_tokens)) for history in histories]


def _next_turn(
    rows: pl.DataFrame, turn: int, request: ConversationRequest, speaker: "TextGenerator"
) -> pl.DataFrame:
    """Return the requests of one turn. rows: columns of conversations, with the utterances before this turn in SAID."""
    chats = (
        [""] * rows.height if request.decoding.is_greedy else rows["conversation"].cast(pl.String).to_list()
    )
    persona = PERSONAS[(turn + 1) % 2]
    told_of = rows[persona].to_list() if persona in rows.columns else [()] * rows.height
    histories = [
        History(tuple(sentences), tuple(said), chat)
        for sentences, said, chat in zip(told_of, rows[SAID].to_list(), chats, strict=True)
    ]
    seen = _in_window(speaker, histories, request.decoding.max_new_tokens)
    return rows.with_columns(
        pl.col("prompt_id").str.replace(r"/\d+$", f"/{turn}"),
        pl.lit(turn, TOLD["turn"]).alias("turn"),
        pl.lit("AB"[(turn + 1) % 2]).alias("speaker"),
        pl.Series("name_in_context", seen, dtype=pl.Boolean),
        pl.Series(HISTORY, [history.prompt() for history in histories], dtype=pl.String),
    )
