"""The manual's page on study files names every key that there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from evenhand.annotation.definition import TEMPLATES, Study

PAGE = Path(__file__).resolve().parents[3] / "docs" / "annotation_studies.md"


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)


def test_every_key_is_explained() -> None:
    told = set(re.findall(r"`([a-z_0-9]+)[`:]", PAGE.read_text(encoding="utf-8")))
    keys = {name for model in models_in(Study) for name in model.model_fields}
    assert keys - told == set()
    assert set(TEMPLATES) <= told
