"""Read YAML with line numbers. Only true, false, null and plain numbers are converted: `yes` and dates stay text.

Events are read without recursion, so deep nesting and references are safe. All problems are collected.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from evenhand.annotation.definition.problems import Path

DEEPEST = 40
MOST_REPEATED = 200_000
"""Maximum total number of values that references (`*name`) may expand to."""
QUOTED = "must be quoted"
CORE = "tag:yaml.org,2002:"
_WORDS = {
    word: value
    for said, value in (("true", True), ("false", False), ("null", None))
    for word in (said, said.title(), said.upper())
}
_WORDS |= {"": None, "~": None}
LONGEST_NUMBER = 400
"""Characters; a longer number is read as text, because parsing it would be slow."""
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A line and column of a file, both from 1; without a column, the whole line."""

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + ("" if self.column is None else f":{self.column}")


@dataclass(slots=True)
class Node:
    """The place of a value and of its parts."""

    place: SourcePosition
    parts: dict[str | int, "Node"] = field(default_factory=dict)
    keys: dict[str | int, SourcePosition] = field(default_factory=dict)
    """Places of the names of the parts."""

    def find_position(self, path: Path) -> SourcePosition:
        """Return the place of a path: the key of its value, or of the nearest enclosing value."""
        node, place = self, self.place
        for step in path:
            if step not in node.parts:
                return place
            place = node.keys.get(step, node.parts[step].place)
            node = node.parts[step]
        return place


@dataclass(slots=True)
class LocatedContent:
    """The content of a YAML text, the places of its values, and its problems."""

    value: Any
    node: Node
    problems: list[tuple[SourcePosition, str]]


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being read."""

    value: Any
    node: Node
    anchor: str | None
    size: int = 1
    key: str | None = None
    waiting: bool = False
    """Whether a key was read and its value follows."""


def meant(text: str) -> Any:
    """Return the value of an unquoted word: true, false, null, an integer, a number, or the text itself.

    Integers keep all their digits, as in JSON.

    >>> [meant(text) for text in ("yes", "true", "7", "007", "1e3", "2020-01-01", "1000000000000000001")]
    ['yes', True, 7, '007', 1000.0, '2020-01-01', 1000000000000000001]
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) >= LONGEST_NUMBER:
        return text
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


class _Stop(Exception):
    """Signals that reading cannot continue."""

    def __init__(self, place: SourcePosition, message: str):
        super().__init__(message)
        self.found = (place, message)


def read_located(text: str, file: str) -> LocatedContent:
    """Return the content of a YAML text with line numbers; never raises for any text.

    Keys are always text. The values true, false, null and plain numbers are converted; all other values are text. For a
    repeated key, the first value counts and a problem is reported.

    Parameters
    ----------
    file
        Name for messages.
    """
    reader = _Reader(file)
    text = text.encode("utf-8", "replace").decode()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            reader.take(event)
    except _Stop as stop:
        reader.problems.append(stop.found)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = reader.place(mark) if mark else SourcePosition(file, 1)
        reader.problems.append((place, _syntax(error, text.splitlines())))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        wrong = error.character if isinstance(error.character, int) else ord(error.character[:1] or "?")
        reader.problems.append(
            (
                SourcePosition(file, line),
                f"contains the character U+{wrong:04X}, which YAML does not allow; remove it",
            )
        )
    return LocatedContent(reader.value, reader.node, reader.problems)


class _Reader:
    """Build values from events with an explicit stack."""

    def __init__(self, file: str):
        self.file = file
        self.value: Any = None
        self.node = Node(SourcePosition(file, 1))
        self.problems: list[tuple[SourcePosition, str]] = []
        self.stack: list[_Open] = []
        self.anchored: dict[str, tuple[Any, Node, int]] = {}
        self.documents = 0
        self.repeated = 0

    def place(self, mark: Any) -> SourcePosition:
        """Return the place of a mark of PyYAML."""
        return SourcePosition(self.file, mark.line + 1, mark.column + 1)

    def take(self, event: yaml.Event) -> None:
        """Process one event."""
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self.stack.pop()
                self._append_value(done.value, done.node, done.size, done.anchor)
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self.documents += 1
                if self.documents > 1:
                    raise _Stop(
                        self.place(event.start_mark), "a second document begins; expected one study in a file"
                    )

    def _begin(self, event: Any) -> None:
        place = self.place(event.start_mark)
        if len(self.stack) >= DEEPEST:
            raise _Stop(place, f"is nested more than {DEEPEST} levels deep; write it with fewer levels")
        mapping = isinstance(event, yaml.MappingStartEvent)
        self._check_tag(event.tag, place, "map" if mapping else "seq")
        if self._awaits_key():
            raise _Stop(place, "expected a key, found a list or a mapping")
        self.stack.append(_Open({} if mapping else [], Node(place), event.anchor))

    def _awaits_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and not self.stack[-1].waiting

    def _scalar(self, event: Any) -> None:
        place = self.place(event.start_mark)
        if self._awaits_key():
            frame = self.stack[-1]
            frame.key, frame.waiting = event.value, True
            if event.value in frame.value:
                before = frame.node.keys[event.value].line
                self.problems.append((place, f"the key {event.value[:60]!r} is already set in line {before}"))
                frame.key = None
            else:
                frame.node.keys[event.value] = place
            return
        self._append_value(self._meant(event, place), Node(place), 1, event.anchor)

    def _meant(self, event: Any, place: SourcePosition) -> Any:
        text: str = event.value
        if event.tag == CORE + "str" or (event.tag in (None, "!") and not event.implicit[0]):
            return text
        if event.tag not in (None, "!"):
            self._check_tag(event.tag, place, "int", "float", "bool", "null")
        return meant(text)

    def _check_tag(self, tag: str | None, place: SourcePosition, *known: str) -> None:
        if tag not in (None, "!", *(CORE + name for name in known)):
            self.problems.append(
                (place, f"has the tag {str(tag)[:60]!r}; expected a plain value without one")
            )

    def _alias(self, event: Any) -> None:
        place = self.place(event.start_mark)
        if event.anchor not in self.anchored:
            raise _Stop(
                place,
                f"*{event.anchor[:60]} refers to an anchor (&{event.anchor[:60]}) that is not complete before it",
            )
        if self._awaits_key():
            raise _Stop(place, "expected a key, found a reference (*NAME)")
        value, node, size = self.anchored[event.anchor]
        self.repeated += size
        if self.repeated > MOST_REPEATED:
            raise _Stop(
                place,
                f"references (*NAME) repeat more than {MOST_REPEATED:,} values; write the values out, or put "
                "items into a file",
            )
        self._append_value(value, node, size, None)

    def _append_value(self, value: Any, node: Node, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self.anchored[anchor] = (value, node, size)
        if not self.stack:
            self.value, self.node = value, node
            return
        frame = self.stack[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.node.parts[len(frame.value)] = node
            frame.value.append(value)
            return
        frame.waiting = False
        if frame.key is not None:
            frame.value[frame.key] = value
            frame.node.parts[frame.key] = node


def _syntax(error: yaml.MarkedYAMLError, lines: list[str]) -> str:
    said = str(error.problem or "cannot be read").strip()
    context = f" ({error.context})" if error.context else ""
    begins = error.context_mark.line if error.context_mark else None
    ends = error.problem_mark.line if error.problem_mark else begins
    if "mapping values are" in said:
        said = f"text with ': ' in it {QUOTED}, or under `|`"
    elif "cannot start any token" in said:
        said += f"; indent with spaces, and text that begins with a special character {QUOTED}"
    elif "expected ',' or" in said and begins is not None and ends is not None:
        said = (
            f"what opens in line {begins + 1} does not go on or close here; a text with ': ', ' #', ', ', quote marks "
            f"or brackets in it {QUOTED}"
        )
        # a missing closing bracket is reported on a later line than the one that ends in a comment
        if (
            cut := next((n for n in range(begins, ends) if " #" in "".join(lines[n : n + 1])), None)
        ) is not None:
            said += f" (elsewhere the ' #' in line {cut + 1} begins a comment)"
        context = ""
    elif "end of stream" in said and begins is not None and "quoted" in context:
        said, context = f"the quote mark that opens in line {begins + 1} is never closed", ""
    elif any(missed in said for missed in ("expected key", "'-' indicator", "expected ':'", "block end")):
        said += (
            f"; lines of one list or mapping begin in one column, and text with quote marks or brackets at its start "
            f"or with ': ' in it {QUOTED}"
        )
    return f"is not YAML: {said}{context}. The lines after it are checked once this is fixed"
