"""Write studies as readable files: defaults are omitted, and long texts are blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from evenhand.annotation.definition.files.located import meant
from evenhand.annotation.definition.study import Study
from evenhand.schema import UsageError, write_bytes, write_text

TELLS_KINDS = ("kind", "rule")
"""Fields that state the kind of a thing; they are written even if they have their default."""
FIRST = {"evenhand_study": 0, "rule": 1, "id": 2, "kind": 3}
AS_BLOCK = re.compile(r"\S.*\n.*", re.DOTALL)
ENDS_IN_SPACE = re.compile(r"[ \t](\n|\Z)")
"""Pattern of trailing spaces in a block, which are invisible and which some editors remove."""
TO_ESCAPE = re.compile("[\r\x85\u2028\u2029\ufeff]")
"""Characters that YAML readers interpret as line ends or as the mark of an encoding."""
LARGEST_WHOLE = 2**53
"""Numbers below this are written without a decimal point."""
MANY = 200
"""Number of items above which `write_study` writes them to a separate file."""


def study_yaml(study: Study) -> str:
    """Return a study as the text of a study file, which `read_study` can read.

    >>> from evenhand.annotation.definition import Choice, Item, Option
    >>> yes, no = Option(id="yes", label="Yes"), Option(id="no", label="No")
    >>> question = Choice(id="rude", text="Is it rude?", options=(yes, no))
    >>> item = Item(id="first", text="You: go away!")
    >>> study = Study(evenhand_study=1, name="small", title="Small", questions=(question,), items=(item,))
    >>> print(study_yaml(study))
    evenhand_study: 1
    name: small
    title: Small
    questions:
    - id: rude
      kind: choice
      text: Is it rude?
      options:
      - id: 'yes'
        label: 'Yes'
      - id: 'no'
        label: 'No'
    items:
    - id: first
      text: 'You: go away!'
    <BLANKLINE>
    """
    return _yaml(to_plain_data(study))


def write_study(study: Study, path: Path | str, note: str = "") -> Path:
    """Write a study file atomically, and return its path.

    If there are more than 200 items, they are written to NAME.items.jsonl in the same folder, which the study file
    names.

    Raises WriteError, and UsageError for a path that is not a .yaml file.

    Parameters
    ----------
    note
        Comment at the top, such as a template's.
    """
    import json

    path = Path(path)
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"{path} is not a valid name of a study file.", "Use NAME.yaml.")
    content = to_plain_data(study)
    if len(study.items) > MANY:
        beside = path.with_suffix(".items.jsonl")
        lines = "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in content["items"])
        write_bytes(beside, lines.encode("utf-8"))
        content["items"] = {"file": beside.name}
    remark = "".join(f"# {line}".rstrip() + "\n" for line in note.splitlines())
    return write_text(path, remark + _yaml(content))


def to_plain_data(value: Any) -> Any:
    """Return a study, or a part of it, as plain data without default values."""
    if isinstance(value, BaseModel):
        return dict(_written_fields(value))
    if isinstance(value, dict):
        return {name: to_plain_data(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_data(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE:
        return int(value)
    return value


def _written_fields(value: BaseModel) -> Iterator[tuple[str, Any]]:
    idle = isinstance(value, Study) and value.onboarding is None and not value.rules
    fields = sorted(type(value).model_fields.items(), key=lambda named: FIRST.get(named[0], len(FIRST)))
    for name, field in fields:
        if name == "rules" and idle:
            continue  # a study without onboarding has no rules by default
        said = getattr(value, name)
        if field.is_required() or said != field.default or name in TELLS_KINDS:
            yield name, to_plain_data(said)


def _yaml(content: dict[str, Any]) -> str:
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """A YAML writer with multi-line texts as blocks and without references."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True, so that no references are written; a reader looks for a text where it is used."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    blocked = AS_BLOCK.fullmatch(text) and not ENDS_IN_SPACE.search(text)
    bare = None if isinstance(meant(text), str) else "'"
    style = '"' if TO_ESCAPE.search(text) else "|" if blocked else bare
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
