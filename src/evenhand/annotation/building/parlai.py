"""Read ParlAI's files: pairs for ACUTE-Eval, and logs of self-chats."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from evenhand.annotation.building.built import Chat, ContentSelection, Notes
from evenhand.annotation.building.pairing import conversation, make_pair
from evenhand.annotation.definition import Item, unfit_character
from evenhand.schema import DataError, parse_json

CONTEXT = "context"
"""Speaker of the beginning of a self-chat (personas), which is not shown."""
SPEAKERS = ("A", "B")
"""Names that replace those of speakers, which would reveal the model."""
PAIRS_FORMAT = (
    "Pairs of ACUTE-Eval are JSON Lines with is_onboarding, speakers_to_eval (two), dialogue_dicts (two, each with "
    "speakers and dialogue: a list of id and text), optionally dialogue_ids and tags, and for onboarding pairs "
    "correct_answer."
)
CHATS_FORMAT = (
    "Self-chats of ParlAI are JSON Lines, each with dialog: a list of exchanges, "
    "which are lists of id and text."
)


MOST_LETTERS, MOST_TURNS, MOST_OF_A_NAME = 100_000, 1_000, 200
"""Maximum lengths of an utterance, a conversation and a name; larger ones indicate a file of another kind."""


@dataclass(frozen=True)
class Pairs:
    """Content of a file of pairs."""

    items: list[Item]
    onboarding: list[Item]


def detect_kind(path: Path, *, expected: bool = False) -> str | None:
    """Return "pairs" or "chats" for files of ParlAI, or None for other files.

    expected: whether the file must be one of these; then an unreadable file raises DataError with the line.
    """
    if path.suffix.lower() not in (".jsonl", ".json", ".ndjson", ".txt"):
        return None
    try:
        first = next(_contents(path), None)
    except DataError:
        if expected:
            raise
        return None
    if first is None or not isinstance(first[1], dict):
        return None
    if "dialogue_dicts" in first[1]:
        return "pairs"
    return "chats" if isinstance(first[1].get("dialog"), list) else None


def read_pairs(path: Path, notes: Notes, questions: tuple[str, ...]) -> Pairs:
    """Read a file of pairs. questions: questions of the study; onboarding pairs have the same correct answer to each.

    Raises DataError with the line; see PAIRS_FORMAT.
    """
    real: dict[str, Item] = {}
    onboarding: dict[str, Item] = {}
    repeated = 0
    for line, content in _objects(path):
        where = f"{path}, line {line}"
        judged, dialogues = content.get("speakers_to_eval"), content.get("dialogue_dicts")
        if not _is_two(judged) or not _is_two(dialogues):
            raise DataError(
                f"{where}: speakers_to_eval and dialogue_dicts must have two entries each.", PAIRS_FORMAT
            )
        sides = [
            conversation(_dialogue(dialogue, str(who), f"{where}, dialogue {place}"))
            for place, (who, dialogue) in enumerate(zip(judged, dialogues, strict=True), 1)
        ]
        trains = content.get("is_onboarding")
        if trains is not None and not isinstance(trains, bool):
            raise DataError(
                f"{where}: is_onboarding must be true or false, got {trains!r:.40}.", PAIRS_FORMAT
            )
        groups: dict[str, Any] = {}
        if _is_two(content.get("dialogue_ids")):
            groups |= {
                "dialogue_a": str(content["dialogue_ids"][0]),
                "dialogue_b": str(content["dialogue_ids"][1]),
            }
        if content.get("tags"):
            groups["tags"] = ", ".join(map(str, content["tags"]))
        if trains:
            answer = content.get("correct_answer")
            if answer not in judged or judged[0] == judged[1]:
                raise DataError(
                    f"{where}: correct_answer must name one of {judged}, got {answer!r}.",
                    PAIRS_FORMAT,
                )
            right = dict.fromkeys(questions, "ab"[judged.index(answer)])
            item = make_pair(sides[0], sides[1], groups, expected=right)
            onboarding.setdefault(item.id, item)
            continue
        item = make_pair(sides[0], sides[1], groups)
        repeated += item.id in real
        real.setdefault(item.id, item)
    notes.count(repeated, f"pairs of {path.name} are duplicates and were merged into one item each")
    return Pairs(list(real.values()), list(onboarding.values()))


def read_chats(path: Path, wanted: ContentSelection, notes: Notes) -> list[Chat]:
    """Read the self-chats of a file, whose name (up to the first full stop) is the model's. Raise DataError."""
    chats = []
    empty = 0
    for line, content in _objects(path):
        where = f"{path}, line {line}"
        if not isinstance(content.get("dialog"), list):
            raise DataError(f"{where}: the dialog is missing.", CHATS_FORMAT)
        acts = [
            act
            for exchange in content["dialog"]
            for act in (exchange if isinstance(exchange, list) else [None])
        ]
        turns = [turn for turn in _turns(acts, where, CHATS_FORMAT) if turn[0] != CONTEXT]
        if not turns:
            empty += 1
            continue
        names = list(dict.fromkeys(name for name, _ in turns))
        if len(names) != 2:
            raise DataError(f"{where}: expected a conversation of two speakers.", CHATS_FORMAT)
        named = dict(zip(names, SPEAKERS, strict=True))
        chats.append(
            Chat(
                tuple((named[name], text) for name, text in turns),
                wanted.speaker,
                path.name.partition(".")[0],
                opener=(turns[0][1],),
            )
        )
    notes.count(empty, f"conversations of {path.name} are empty and are left out")
    return chats


def _dialogue(dialogue: Any, who: str, where: str) -> Chat:
    acts = dialogue.get("dialogue") if isinstance(dialogue, dict) else None
    if not isinstance(acts, list):
        raise DataError(f"{where}: the dialogue is missing.", PAIRS_FORMAT)
    turns = [turn for turn in _turns(acts, where, PAIRS_FORMAT) if turn[0] != CONTEXT]
    names = list(dict.fromkeys(name for name, _ in turns))
    if who not in names or len(names) > 2:
        raise DataError(
            f"{where}: speakers_to_eval names {who!r}, who does not speak in the dialogue (its speakers: "
            f"{', '.join(names) or 'none'}).",
            PAIRS_FORMAT,
        )
    called = dict(zip(names, SPEAKERS, strict=False))
    return Chat(tuple((called[name], text) for name, text in turns), called[who], who)


def _turns(acts: list[Any], where: str, expected: str) -> Iterator[tuple[str, str]]:
    if len(acts) > MOST_TURNS:
        raise DataError(
            f"{where}: {len(acts):,} utterances, but at most {MOST_TURNS:,} are allowed.", expected
        )
    for act in acts:
        name = act.get("id", act.get("speaker")) if isinstance(act, dict) else None
        text = act.get("text") if isinstance(act, dict) else None
        if not isinstance(name, str) or not isinstance(text, str):
            raise DataError(f"{where}: an utterance has no id or no text.", expected)
        if act.get("image_src"):
            raise DataError(f"{where}: an utterance is an image.", "Studies of images cannot be shown yet.")
        if not 0 < len(name) <= MOST_OF_A_NAME:
            raise DataError(
                f"{where}: the name of a speaker must have 1 to {MOST_OF_A_NAME} characters, got {len(name):,}.",
                expected,
            )
        if len(text) > MOST_LETTERS:
            raise DataError(
                f"{where}: an utterance has {len(text):,} characters, but at most {MOST_LETTERS:,} are allowed.",
                expected,
            )
        yield name, text.strip()


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line and content of every object of a file: one per line, or a single one on several lines."""
    return ((line, _object(content, path, line)) for line, content in _contents(path))


def _contents(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with path.open("rb") as handle:
            first = handle.readline().removeprefix(b"\xef\xbb\xbf")
            # formatted for people, like the onboarding that ParlAI provides
            if first.strip() in (b"{", b"["):
                whole = _parse_line(first + handle.read(), path, 1)
                yield from ((1, one) for one in (whole if isinstance(whole, list) else [whole]))
                return
            for number, line in enumerate(chain([first], handle), 1):
                if line.strip():
                    yield number, _parse_line(line, path, number)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", PAIRS_FORMAT) from error


def _parse_line(line: bytes, path: Path, number: int) -> Any:
    try:
        return parse_json(line.decode())
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {number}: not UTF-8 text.", PAIRS_FORMAT) from error
    except ValueError as error:
        raise DataError(f"{path}, line {number}: not valid JSON: {error}.", PAIRS_FORMAT) from error


def _object(content: Any, path: Path, number: int) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise DataError(f"{path}, line {number}: expected a JSON object.", PAIRS_FORMAT)
    try:
        unfit = unfit_character(content)
    except RecursionError as error:
        raise DataError(f"{path}, line {number}: the JSON is nested too deeply.", PAIRS_FORMAT) from error
    if unfit:
        raise DataError(
            f"{path}, line {number}: contains the character {unfit}, which pages and databases do not support.",
            "Remove this character from the file.",
        )
    return content


def _is_two(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and len(value) == 2
