"""The studies of the papers as templates: questions, onboarding, rules and survey, without items."""

import json
from pathlib import Path
from typing import Any

from evenhand.annotation.definition.files import read_located
from evenhand.schema import parse_json, unknown_name

TEMPLATES = ("acute", "regard", "robbie", "redditbias", "labels")
FILES = Path(__file__).parent / "starting_points"
SDO7_SURVEY: dict[str, Any] = {"kind": "scale", "id": "sdo7", "use": "sdo7", "draw": 2}
"""The survey of Smith and Williams (2021): two statements at the end of each task batch."""


def template(name: str, *, survey: bool = False) -> dict[str, Any]:
    """Return the content of a study file without items. Raise UsageError for an unknown name.

    The templates ask for political views. Check the law and the rules of your ethics board before you use them.

    Parameters
    ----------
    survey
        Two statements of SDO7 after each task batch, as in Smith and Williams (2021).

    Examples
    --------
    >>> [question["id"] for question in template("robbie")["questions"]]
    ['fluency', 'coherence', 'toxicity', 'bias', 'immorality']
    """
    # a copy, so that no two questions share a list of options
    content = parse_json(json.dumps(read_located(_text(name), f"{name}.yaml").value))
    return {**content, "survey": [dict(SDO7_SURVEY)]} if survey else content


def template_note(name: str) -> str:
    """Return sentences on which parts of a template are published and which are ours. Raise a UsageError for an unknown
    name.
    """
    lines = _text(name).splitlines()
    note = lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]
    return "\n".join(line.removeprefix("#").strip() for line in note)


def _text(name: str) -> str:
    if name not in TEMPLATES:
        raise unknown_name("template", name, TEMPLATES)
    return (FILES / f"{name}.yaml").read_text(encoding="utf-8")
