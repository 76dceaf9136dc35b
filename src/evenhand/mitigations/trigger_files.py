"""A found trigger on disk: its tokens, what it was found on and for, how, and what it was measured to do."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from evenhand.mitigations.trigger_objective import Mode
from evenhand.mitigations.trigger_tokens import Trigger as Ids
from evenhand.schema import DataError
from evenhand.schema.files import write_json

FORMAT = "evenhand trigger"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class TriggerFile:
    """Everything known of a found trigger.

    >>> from tempfile import mkdtemp
    >>> told = TriggerFile(ids=(5, 6), text=" be kind", mode="mitigate", tokenizer="ab", model={"name": "tiny"})
    >>> told.write(Path(mkdtemp()) / "kind.json") == told
    True
    """

    ids: Ids
    text: str
    mode: Mode
    tokenizer: str
    """SHA-256 of the tokenizer that cuts the text into these tokens; see `tokenizer_fingerprint`."""
    model: dict[str, Any]
    """Fingerprint of the model it was found on."""
    separator: str = " "
    objective: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    examples: dict[str, Any] = field(default_factory=dict)
    """How many, of which groups and labels, and their digest."""
    history: tuple[dict[str, Any], ...] = ()
    """One row a sweep of the search."""
    choice: dict[str, Any] = field(default_factory=dict)
    """What each round's trigger does to what the model writes, on the prompts it was chosen by."""
    effect: dict[str, Any] = field(default_factory=dict)
    """What this one does on prompts that nothing was searched or chosen by."""

    def write(self, path: Path) -> "TriggerFile":
        """As JSON, whole or not at all; returns itself. Raises WriteError."""
        write_json(path, {"format": FORMAT, "version": VERSION, **asdict(self)})
        return self


def read_trigger(path: Path | str) -> TriggerFile:
    """A trigger file. Raises DataError if there is none, or something else is in it."""
    path = Path(path)
    if not path.is_file():
        raise DataError(
            f"There is no trigger file {path}.",
            "Search one: evenhand search-trigger MODEL --prompts PROMPTS --classifier NAME --output FILE",
        )
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no trigger file: {error}.") from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise DataError(f"{path} is no trigger file: it does not say 'format': '{FORMAT}'.")
    if told.get("version") != VERSION:
        raise DataError(
            f"{path} is a trigger file of version {told.get('version')}; this program reads version {VERSION}."
        )
    ids, mode = told.get("ids"), told.get("mode")
    if not (isinstance(ids, list) and ids and all(type(i) is int and i >= 0 for i in ids)):
        raise DataError(f"{path}: 'ids' is {ids!r}; a list of token ids was expected.")
    if mode not in get_args(Mode):
        raise DataError(f"{path}: 'mode' is {mode!r}; one of {', '.join(get_args(Mode))} was expected.")
    for name, kind in (("text", str), ("separator", str), ("tokenizer", str), ("model", dict)):
        if not isinstance(told.get(name), kind):
            raise DataError(
                f"{path}: '{name}' is {told.get(name)!r}; {'text' if kind is str else 'an object'} was expected."
            )
    known = {name: told[name] for name in TriggerFile.__dataclass_fields__ if name in told}
    return TriggerFile(**{**known, "ids": tuple(ids), "history": tuple(told.get("history", ()))})
