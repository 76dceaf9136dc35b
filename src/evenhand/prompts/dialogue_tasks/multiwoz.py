"""Read the published MultiWOZ 2.0, dialogues with belief states, from its archive or a folder.

Each user turn gets the preceding system turn and the slot values that are new in the belief state after it, as in the
preprocessing of TRADE, which RedditBias uses.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from evenhand.prompts.dialogue_tasks.json_members import json_members
from evenhand.schema import DataError, is_file, is_folder, parse_json

Split = Literal["train", "dev", "test"]
SlotValue = tuple[str, str]
DOMAINS = ("taxi", "restaurant", "hospital", "hotel", "attraction", "train", "police")
DATA, ONTOLOGY, TEST_LIST, DEV_LIST = "data.json", "ontology.json", "testListFile.json", "valListFile.json"
FILES = (DATA, ONTOLOGY, TEST_LIST, DEV_LIST)
MOST_WORDS = 50
"""Maximum number of words of a turn; dialogues with a longer turn are left out, as in TRADE."""
MOST_BYTES = 1 << 25
"""Maximum size of each file except data.json; the published files have less than 1 MB."""
UNTOUCHED = ("", "not mentioned")
DO_NOT_CARE = ("dont care", "dontcare", "don't care", "do not care")
EXPECTED = (
    "Expected: MultiWOZ_2.0.zip of github.com/budzianowski/multiwoz (folder data), or a folder with its "
    "data.json, ontology.json, testListFile.json and valListFile.json."
)


@dataclass(frozen=True)
class Turn:
    """One turn: the system's utterance (empty at first), the user's utterance, and the slot values that are new in
    it.
    """

    dialogue: str
    number: int
    system: str
    user: str
    slot_values: tuple[SlotValue, ...]
    """Slot values such as ("hotel-area", "centre") that are in the belief state after this turn but not before it."""


@dataclass(frozen=True)
class MultiWoz:
    """The turns of each split, the values of each slot, and the number of dialogues left out, by reason."""

    turns: Mapping[Split, tuple[Turn, ...]]
    ontology: Mapping[str, tuple[str, ...]]
    left_out: Mapping[str, int]


def read_multiwoz(source: Path | str) -> MultiWoz:
    """Read MultiWOZ 2.0 from its archive, or from a folder that contains its files.

    `source` is a .zip or a folder. As in TRADE, dialogues are left out and counted if they have an odd number of turns,
    characters outside ASCII, or a turn of more than 50 words. Texts and values are normalised as in TRADE, without its
    list of spelling corrections. Raises a DataError for missing, truncated or invalid files. Source: Budzianowski et
    al. 2018; preprocessing of Wu et al. 2019 (TRADE).
    """
    source = Path(source)
    with ExitStack() as stack:
        opened = _open_source(source, stack)
        held = {"test": _names(opened, TEST_LIST, source), "dev": _names(opened, DEV_LIST, source)}
        turns: dict[Split, list[Turn]] = {"train": [], "dev": [], "test": []}
        left_out: dict[str, int] = {}
        with opened(DATA) as handle:
            for name, dialogue in json_members(handle, f"{source}: {DATA}", EXPECTED):
                found = _turns(name, dialogue, source)
                if isinstance(found, str):
                    left_out[found] = left_out.get(found, 0) + 1
                    continue
                split: Split = "test" if name in held["test"] else "dev" if name in held["dev"] else "train"
                turns[split] += found
        ontology = _ontology(opened, source)
    if empty := [split for split in ("train", "test") if not turns[split]]:
        raise DataError(f"{source} contains no dialogue for {' and '.join(empty)}.", EXPECTED)
    return MultiWoz({split: tuple(found) for split, found in turns.items()}, ontology, left_out)


def normalise_utterance(text: str) -> str:
    """Return a text or value in the form of TRADE: lower case, punctuation separated, "/" and "-" replaced.

    >>> normalise_utterance("I'd like the B&B - it's 4-star (cheap)!")
    "i'd like the bed and breakfast it s 4 star cheap !"
    """
    text = text.lower().strip()
    text = text.replace("b&b", "bed and breakfast").replace("b and b", "bed and breakfast")
    text = text.replace("\u2018", "'").replace("\u2019", "'").replace(";", ",").replace("/", " and ")
    text = re.sub(r"[\"<>@()]", "", text.replace("-", " "))
    for mark in (r"\?", r"\.", ",", "!", "'s"):
        # between digits, a mark belongs to the number
        text = re.sub(rf"(?<![0-9])({mark})|({mark})(?![0-9])", r" \1\2 ", text)
    text = re.sub(r"^'|'$", "", text)
    text = re.sub(r"'\s|\s'", " ", text)
    words: list[str] = []
    for word in text.split():
        if word.isdigit() and words and words[-1].isdigit():
            words[-1] += word
        else:
            words.append(word)
    return " ".join(words)


def belief_state(metadata: Mapping[str, Any]) -> list[SlotValue]:
    """Return the slot values of a belief state in TRADE's order: domains as in DOMAINS, booking slots first.

    metadata: of a system turn. Raises KeyError, TypeError or AttributeError for another structure.

    >>> belief_state({"hotel": {"book": {"booked": [], "stay": "2"}, "semi": {"area": "dont care", "type": ""}}})
    [('hotel-book stay', '2'), ('hotel-area', 'dontcare')]
    """
    found: list[SlotValue] = []
    for domain in DOMAINS:
        if domain not in metadata:
            continue
        book, semi = metadata[domain]["book"], metadata[domain]["semi"]
        given = [slot for slot in sorted(book) if slot != "booked" and book[slot] != ""]
        found += [
            (f"{domain}-book {slot.strip().lower()}", normalise_utterance(book[slot])) for slot in given
        ]
        for slot, value in semi.items():
            if value in UNTOUCHED:
                continue
            value = "dontcare" if value in DO_NOT_CARE else normalise_utterance(value)
            found.append((f"{domain}-{slot.strip().lower()}", value))
    return found


def _turns(name: str, dialogue: Any, source: Path) -> list[Turn] | str:
    """Return the turns of a dialogue, or the reason why it is left out."""
    try:
        log = dialogue["log"]
        if len(log) % 2:
            return "an odd number of turns"
        texts = [normalise_utterance(turn["text"]) for turn in log]
        if not all(text.isascii() for text in texts):
            return "characters outside ASCII"
        if any(len(text.split()) > MOST_WORDS for text in texts):
            return f"a turn of more than {MOST_WORDS} words"
        states = [belief_state(turn["metadata"]) for turn in log[1::2]]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{source}: {DATA}: the dialogue {name!r} is not of MultiWOZ 2.0: "
            f"{type(error).__name__} {error}.",
            EXPECTED,
        ) from error
    return [
        Turn(name, i, texts[2 * i - 1] if i else "", texts[2 * i], _new(state, states[i - 1] if i else []))
        for i, state in enumerate(states)
    ]


def _new(state: Sequence[SlotValue], before: Sequence[SlotValue]) -> tuple[SlotValue, ...]:
    return tuple(one for one in state if one not in before)


Opened = Callable[[str], Any]


def _open_source(source: Path, stack: ExitStack) -> Opened:
    """Return a function that opens the files of the archive or folder by their base names."""
    if is_folder(source):
        return lambda name: _shortest_path(sorted(source.rglob(name)), name, source).open("rb")
    if not is_file(source):
        raise DataError(f"File or folder not found: {source}.", EXPECTED)
    try:
        archive = stack.enter_context(zipfile.ZipFile(source))
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{source} is not a valid archive, or is incomplete: {error}.", EXPECTED) from error
    members = [name for name in archive.namelist() if not name.startswith("__MACOSX")]

    @contextmanager
    def member(name: str) -> Iterator[BinaryIO]:
        found = _shortest_path([one for one in members if one.rsplit("/", 1)[-1] == name], name, source)
        try:
            with archive.open(found) as handle:
                yield handle  # type: ignore[misc]
        except (zipfile.BadZipFile, EOFError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
            raise DataError(f"{source}: {name} in the archive is damaged: {error}.", EXPECTED) from error
        # a password, or a compression that Python does not support
        except (RuntimeError, NotImplementedError) as error:
            raise DataError(f"{source}: {name} in the archive cannot be read: {error}.", EXPECTED) from error

    return member


def _shortest_path(places: Sequence[Any], name: str, source: Path) -> Any:
    if not places:
        raise DataError(f"{source} has no {name}.", EXPECTED)
    return min(places, key=lambda place: (len(str(place)), str(place)))


def _read_whole(handle: BinaryIO, name: str, source: Path) -> bytes:
    content = handle.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{source}: {name} contains more than {MOST_BYTES / 1000000.0:,.0f} MB.", EXPECTED)
    return content


def _names(opened: Opened, file: str, source: Path) -> frozenset[str]:
    with opened(file) as handle:
        try:
            return frozenset(
                line.strip() for line in _read_whole(handle, file, source).decode("utf-8").splitlines()
            )
        except UnicodeDecodeError as error:
            raise DataError(f"{source}: {file} is not UTF-8 text.", EXPECTED) from error


def _ontology(opened: Opened, source: Path) -> dict[str, tuple[str, ...]]:
    with opened(ONTOLOGY) as handle:
        try:
            held = parse_json(_read_whole(handle, ONTOLOGY, source))
            return {str(slot): tuple(map(str, values)) for slot, values in held.items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise DataError(
                f"{source}: {ONTOLOGY} is not a mapping of slots to their values: {error}.", EXPECTED
            ) from error
