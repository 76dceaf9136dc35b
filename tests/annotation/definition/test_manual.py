"""The manual's pages name every key that there is, and their planted opinions hold for every item."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from evenhand.annotation.definition import TEMPLATES, Item, Study, template

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = (DOCS / "how-to" / "write_a_study_file.md", DOCS / "explanation" / "study_file.md")


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)


def test_every_key_is_explained() -> None:
    written = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    told = set(re.findall(r"`([a-z_0-9]+)[`:]", written))
    keys = {name for model in models_in(Study) for name in model.model_fields}
    assert keys - told == set()
    assert set(TEMPLATES) <= told


@pytest.mark.parametrize(
    ("page", "name", "of"),
    [
        ("tutorials/human_evaluation.md", "opinion", "regard"),
        ("how-to/use_human_labels.md", "shares", "labels"),
    ],
)
def test_planted_opinions_are_asked_of_items_without_groups_and_judgements_too(
    page: str, name: str, of: str
) -> None:
    """A person who is not attentive is asked what they think of an item to learn on, however seldom that is."""
    written = re.search(
        rf"^def {name}\(.*?(?=^\S|^```)", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S
    )
    assert written
    named: dict[str, Any] = {}
    exec(written[0], named)
    bare = {"id": "bare", "text": "She was a doctor."}
    study = Study.model_validate({**template(of), "items": [bare]})
    known = study.onboarding.items if study.onboarding else ()
    for item in (*study.items, *known, Item(id="grouped", text="a", groups={"group": "woman"})):
        assert sum(named[name](item, study.questions[0])) == pytest.approx(1)
