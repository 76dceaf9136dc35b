"""Templates with a gap for a noun phrase, of five kinds, read from TOML."""

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from evenhand.schema import DataError, checked, parse_toml, unknown_name

Kind = Literal["neutral", "opinion", "question", "self_introduction", "seat"]
Valence = Literal["positive", "negative"]

_PLACEHOLDER = re.compile(r"\{(plural_)?noun_phrase\}")


@dataclass(frozen=True, kw_only=True)
class Template:
    """A sentence with one gap for a noun phrase, such as "a Deaf woman".

    `compose` fills the gap with descriptors and nouns. Create templates to use your own sentences.

    Raises
    ------
    ValueError
        `text` does not contain exactly one placeholder, or contains other braces.

    Examples
    --------
    >>> t = Template(text="I admire {plural_noun_phrase}.", kind="opinion", valence="positive")
    >>> t.prefix, t.suffix, t.plural
    ('I admire ', '.', True)
    """

    text: str
    """Sentence that contains `{noun_phrase}` or `{plural_noun_phrase}` exactly once."""
    kind: Kind
    needs_noun: bool = True
    """False if the sentence also works with an adjective alone."""
    valence: Valence | None = None
    """Valence of an opinion about the person; None for all other kinds."""
    pair: str | None = None
    """Name shared by the two templates of a contrast with the same frame."""
    humanising: bool | None = None
    """For seat templates: True if the sentence describes a person with an inner life."""

    def __post_init__(self) -> None:
        if len(_PLACEHOLDER.findall(self.text)) != 1 or self.text.count("{") != 1:
            raise ValueError(
                f"template {self.text!r} must contain {{noun_phrase}} or {{plural_noun_phrase}} exactly once, and "
                "no other braces"
            )

    @property
    def prefix(self) -> str:
        """Return the text before the gap."""
        return _PLACEHOLDER.split(self.text)[0]

    @property
    def suffix(self) -> str:
        """Return the text after the gap."""
        return _PLACEHOLDER.split(self.text)[-1]

    @property
    def plural(self) -> bool:
        """Return whether the gap needs a plural."""
        return "{plural_noun_phrase}" in self.text


_KEYS = tuple(f.name for f in fields(Template))
_ALLOWED: dict[str, tuple[Any, ...]] = {
    "kind": get_args(Kind),
    "valence": get_args(Valence),
    "needs_noun": (True, False),
    "humanising": (True, False),
}


@checked
def load_templates(
    kinds: Collection[Kind] | None = None, path: Path | str | None = None
) -> tuple[Template, ...]:
    """Return sentence templates, the built-in ones or those of your own file.

    Use it to select some kinds of templates for `compose`.

    Parameters
    ----------
    kinds : collection of str, optional
        Kinds of templates to keep. Default: all.
    path : path or str, optional
        A TOML file with a list `[[templates]]`, in the format of the built-in file. Default: the built-in
        file.

    Returns
    -------
    tuple of Template
        The templates.

    Raises
    ------
    UsageError
        A kind is unknown.
    DataError
        The file is missing or not TOML, or a template is invalid; the message names the file and the
        template.

    Examples
    --------
    >>> len(load_templates(kinds=["opinion"]))
    24
    """
    for kind in kinds or ():
        if kind not in get_args(Kind):
            raise unknown_name("kind of template", kind, get_args(Kind))
    file = Path(path) if path is not None else Path(__file__).with_name("templates.toml")
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"Could not read {file}: {error.strerror}.", "Give a TOML file of templates."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{file} is not TOML in UTF-8: {error}.", "Correct the file at that position."
        ) from error
    entries = content.get("templates")
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{file} contains no templates.", "Expected a list of tables [[templates]].")
    templates = [_template(entry, f"{file}, template {i}") for i, entry in enumerate(entries, 1)]
    seen: set[str] = set()
    for i, template in enumerate(templates, 1):
        if template.text in seen:
            raise DataError(
                f"{file}, template {i}: {template.text!r} occurs twice.", "Remove one of the two."
            )
        seen.add(template.text)
    return tuple(t for t in templates if kinds is None or t.kind in kinds)


def _template(entry: Any, where: str) -> Template:
    expected = f"Expected keys: {', '.join(_KEYS)}; text and kind are needed."
    if not isinstance(entry, dict):
        raise DataError(f"{where}: {entry!r} is not a table.", expected)
    if unknown := sorted(entry.keys() - set(_KEYS)):
        raise DataError(f"{where}: unknown key {unknown[0]!r}.", expected)
    if missing := [key for key in ("text", "kind") if key not in entry]:
        raise DataError(f"{where}: {missing[0]!r} is missing.", expected)
    for key, value in entry.items():
        allowed = _ALLOWED.get(key)
        if (allowed and value not in allowed) or (not allowed and not isinstance(value, str)):
            wanted = f"one of {', '.join(map(repr, allowed))}" if allowed else "a text"
            raise DataError(f"{where}: {key} must be {wanted}, got {value!r}.")
    try:
        return Template(**entry)
    except ValueError as error:
        raise DataError(f"{where}: {error}.", "Write the placeholder once, in curly braces.") from error
