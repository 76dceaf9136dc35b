"""What the study of RedditBias is asked to do."""

import re
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from evenhand.mitigations.training import load_method, own_axes
from evenhand.prompts.redditbias import BIAS_TYPES
from evenhand.schema import UsageError
from evenhand.studies.audit import SeedOptions
from evenhand.studies.model_options import ModelOptions
from evenhand.studies.options import Count

METHODS = ("lmd", "add", "hd", "cda")
PUBLISHED = {
    "lmd": "as_published=true",
    "add": "as_published=true",
    "hd": "as_published=true",
    "cda": "by=published",
}
"""What makes a method that of the published program."""
OWN = "evenhand/"
"""In front of an axis of our own sentences, in the place of a bias type."""
BASE = "base"
"""What the model by itself is called."""
SAME_RESULTS = frozenset({"device", "batch_tokens"})
"""Options that may differ when a study goes on: they change how it is computed, not what."""
NAMED_ANEW = frozenset({"trust_remote_code"})
"""Options that a folder cannot decide."""


class RedditBiasConfig(SeedOptions, ModelOptions):
    """Options of the study. Unknown names are refused."""

    bias: tuple[str, ...] = ("religion1",)
    """Types of RedditBias, or `evenhand/AXIS` for our own sentences about an axis."""
    methods: tuple[str, ...] = METHODS
    """As `evenhand debias --method` takes them, options and all."""
    source: str | None = None
    """A folder with RedditBias' files; None takes the cache of `evenhand data fetch`."""
    multiwoz: str | None = None
    """The archive or folder of MultiWOZ 2.0; None: state tracking is not measured."""
    dstc7: str | None = None
    """The folder of DSTC7's files; None: response generation is not measured."""
    as_published: bool = False
    """Methods and dialogue tasks with the quirks of the published programs."""
    task_limit: Count | None = None
    """At most so many examples to learn each dialogue task from, and to ask; None: all."""
    epochs: float | None = Field(default=None, gt=0)
    """Times that a method reads its texts; None: the published 2, and our own sentences once."""
    alpha: float = Field(default=0.05, gt=0, lt=1)

    @field_validator("bias")
    @classmethod
    def _known_bias(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        known = (*BIAS_TYPES, *(f"{OWN}{axis}" for axis in own_axes()))
        unknown = [bias for bias in value if bias not in known]
        if unknown or not value:
            raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} is none of {', '.join(known)}")
        return tuple(dict.fromkeys(value))

    @field_validator("methods")
    @classmethod
    def _known_methods(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for words in value:
            try:
                load_method(words)
            except UsageError as error:
                raise ValueError(str(error)) from error
        return tuple(dict.fromkeys(value))

    @property
    def models(self) -> list[tuple[str, str | None, str | None]]:
        """Every model of the study: its key, and the bias and method it comes from (None: the model by itself)."""
        made = [(f"{slug(bias)}-{slug(words)}", bias, words) for bias in self.bias for words in self.methods]
        return [(BASE, None, None), *made]

    @property
    def folder(self) -> Path | None:
        """Of RedditBias' files."""
        return None if self.source is None else Path(self.source).expanduser()

    def words(self, method: str) -> str:
        """A method with its options: as published where all is to be, and none was given."""
        if not self.as_published or "?" in method or method not in PUBLISHED:
            return method
        return f"{method}?{PUBLISHED[method]}"

    def deciding(self) -> dict[str, Any]:
        """The options that decide the numbers, JSON-serialisable."""
        return self.model_dump(mode="json", exclude=set(SAME_RESULTS | NAMED_ANEW))


def slug(words: str) -> str:
    """A name fit for a folder.

    >>> slug("evenhand/religion"), slug("lmd?weight=50.0")
    ('evenhand-religion', 'lmd-weight-50-0')
    """
    return re.sub(r"[^\w]+", "-", words).strip("-")
