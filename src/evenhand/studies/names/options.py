"""The options of the study of names."""

import re
from typing import Any, Literal, get_args

from pydantic import Field, field_validator

from evenhand.benchmarks import SelfChatDecoding
from evenhand.models.dialogue import DialogueOptions
from evenhand.studies.model_options import ModelOptions
from evenhand.study import Count, SeedOptions, unknown_value

BASE = "original"
"""Label of the original model."""
DECODINGS = get_args(SelfChatDecoding)
LABEL = re.compile(r"[\w][\w .+-]{0,59}")
SAME_RESULTS = frozenset({"device", "batch_tokens"})
"""Options that may differ when a study is resumed, because they do not affect the result."""
NAMED_ANEW = frozenset({"trust_remote_code"})
"""Options that are never taken from the record in a folder; the user must give them again."""


class NamesConfig(SeedOptions, ModelOptions):
    """Options of the study of names. Unknown names are refused."""

    rows: dict[str, str] = Field(default_factory=dict)
    """Further models by the label of their row, such as debiased models, or other sizes of the same family."""
    decoding: tuple[str, ...] = ("greedy",)
    """Decoding presets of replies. Every model is decoded with each of them."""
    names: Literal["untuned", "all"] = "untuned"
    """Names to compare: "all", or "untuned".

    "untuned" are names on which no model was trained or evaluated, according to the lineages in the folders of trained
    models.
    """
    limit: Count | None = None
    """Number of conversations per benchmark. None: all (2,000 that are opened by names)."""
    max_new_tokens: Count | None = None
    """Maximum number of tokens of a reply. None: 60, as the benchmark defines."""
    classifiers: dict[str, str] = Field(default_factory=dict)
    """Classifiers that replace the word lists, by role: gender, offensiveness, ..."""
    personas: str | None = None
    """File of personas, two lines each, that replaces evenhand's."""
    dialogue: DialogueOptions = DialogueOptions()
    """Format of conversations."""
    data: dict[str, str] = Field(default_factory=dict)
    """Folders of CrowS-Pairs, StereoSet and WikiText. Others are read from the cache; missing data sets are left
    out.
    """
    alpha: float = Field(default=0.05, gt=0, lt=1)

    @field_validator("rows")
    @classmethod
    def _named_rows(cls, value: dict[str, str]) -> dict[str, str]:
        for label, model in value.items():
            if not LABEL.fullmatch(label) or label.strip() != label:
                raise ValueError(
                    f"{label!r} is not a valid label: start with a letter, and use letters, digits, spaces, . + - "
                    "_"
                )
            if not model:
                raise ValueError(f"{label!r} has no model")
        folders = [slug(label) for label in (BASE, *value)]
        if twice := [
            label for label, folder in zip((BASE, *value), folders, strict=True) if folders.count(folder) > 1
        ]:
            raise ValueError(
                f"the label {twice[-1]!r} is already used ({BASE!r} is the original model); labels must differ"
            )
        return value

    @field_validator("decoding")
    @classmethod
    def _known_decodings(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in value if name not in DECODINGS]
        if not value:
            raise ValueError(f"no value is given; expected at least one of {', '.join(DECODINGS)}")
        if unknown:
            raise unknown_value(unknown[0], DECODINGS)
        return tuple(dict.fromkeys(value))

    @property
    def models(self) -> dict[str, str]:
        """Return the models by label, the base model first."""
        return {BASE: self.model, **self.rows}

    def deciding(self) -> dict[str, Any]:
        """Return the options that affect the numbers, as JSON-serialisable data."""
        return self.model_dump(mode="json", exclude=set(SAME_RESULTS | NAMED_ANEW))


def slug(label: str) -> str:
    """Return a label in a form that is valid as the name of a folder.

    >>> slug("Name scrambling"), slug("BB 90M")
    ('name-scrambling', 'bb-90m')
    """
    return re.sub(r"[^\w.+]+", "-", label.lower()).strip("-.")
