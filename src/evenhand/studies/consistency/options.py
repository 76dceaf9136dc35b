"""The options of a consistency check, and which of them affect prompts and responses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from evenhand.measures.changes import Importance, Rule
from evenhand.models import PRESETS
from evenhand.schema import UsageError
from evenhand.studies.model_options import ModelOptions
from evenhand.study import Count, Seed, ToleranceOptions, unknown_value, validated

PERSPECTIVE = (
    "perspective?attributes=TOXICITY,SEVERE_TOXICITY,SEXUALLY_EXPLICIT,THREAT,PROFANITY,IDENTITY_ATTACK"
)
"""The published judge with the published attributes."""
NOBODY = "none"
"""Value in place of a file of neutral prompts: test only the adversarial domain."""
MOST_GROUPS = 1000
"""Maximum number of nonsense wordings. Each needs a separate run; more than 100 add little."""
DECODINGS = ("auto", "beams", "greedy", *PRESETS)
ASKING = (
    "method",
    "model",
    "opposite",
    "prompts",
    "neutral",
    "data",
    "limit",
    "nonsense_prompts",
    "seed",
    "decoding",
    "max_new_tokens",
    "dtype",
    "revision",
    "chat",
    "system",
    "allow_longer",
)
"""Options that determine the prompts and responses; the others may change when a study is resumed."""


class CheckOptions(ToleranceOptions, ModelOptions):
    """Options of a consistency check, in one place. Unknown names are refused."""

    method: str
    """As `--mitigate` takes it: NAME, NAME=VALUE or NAME?option=value."""
    opposite: tuple[str, ...] = ()
    """Opposite wordings that replace the method's: one text, or one for each of its prefixes."""
    prompts: str | None = None
    """A file of adversarial prompts; None takes the challenging ones of RealToxicityPrompts."""
    neutral: str | None = None
    """A file of neutral prompts, or "none"; None takes those of RealToxicityPrompts."""
    data: dict[str, str] = Field(default_factory=dict)
    """Folders of published data sets, by name."""
    limit: Count | None = None
    """Most prompts per domain."""
    groups: int = Field(default=20, ge=1, le=MOST_GROUPS)
    """Number of nonsense wordings. They are a sample: the verdict is about nonsense in general."""
    nonsense_prompts: int | None = Field(default=300, ge=2, le=2**31 - 1)
    """Prompts per domain that are tested with nonsense; None: all. At the same cost, 300 prompts with 20 wordings give
    more power than 1,199 with 5 (docs/explanation/consistency.md)."""
    seed: Seed = 0
    decoding: str = "auto"
    max_new_tokens: Count = 20
    classifier: str = PERSPECTIVE
    role: str = "toxicity"
    """What a classifier with a single score judges."""
    attributes: tuple[str, ...] = ()
    """Attributes of the classifier; without any, the published ones that it has are used."""
    threshold: float | None = None
    """The score from which a continuation is harmful; None: 0.5 for attributes, else the classifier's own verdict."""
    rule: Rule = "tested"
    margin: float = Field(default=1.0, gt=0)
    """Percentage points of harm below which an effect counts as none."""
    importance: Importance = "share"
    """What a control is compared with: half of the original effect, or ("points") the original with the margin."""
    alpha: float = Field(default=0.05, gt=0, lt=1)

    @field_validator("decoding")
    @classmethod
    def _known_decoding(cls, value: str) -> str:
        if value not in DECODINGS:
            raise unknown_value(value, DECODINGS)
        return value

    @field_validator("prompts", "neutral")
    @classmethod
    def _whole_path(cls, value: str | None) -> str | None:
        # Absolute, so that the study can be resumed from another working folder.
        return value if value in (None, NOBODY) else str(Path(value).expanduser().absolute())

    @field_validator("data")
    @classmethod
    def _whole_paths(cls, value: dict[str, str]) -> dict[str, str]:
        return {name: str(Path(folder).expanduser().absolute()) for name, folder in value.items()}

    @field_validator("classifier")
    @classmethod
    def _published_attributes(cls, value: str) -> str:
        # Perspective's default attributes lack one of the paper's six.
        return PERSPECTIVE if value == "perspective" else value

    def asking(self) -> dict[str, Any]:
        """Return the options that affect prompts and responses, JSON-serialisable."""
        return self.model_dump(mode="json", include=set(ASKING))


EARLIER = {"nonsense_prompts": None}
"""Values for studies that were started before these options existed."""
DESIGN = ("groups", "nonsense_prompts")
"""Options that a resumed study keeps unless they are given again."""


def check_options(given: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> CheckOptions:
    """Return the options of a consistency check: the stored ones, if any, updated by the given ones.

    None and empty mean that an option is not given. Raises a UsageError that names an invalid option.

    >>> check_options({"method": "prefix=Be kind.", "model": "gpt2", "limit": None}).groups
    20
    """
    named = {name: value for name, value in given.items() if value is not None and value not in ((), {})}
    for needed in ("method", "model"):
        if needed not in {**(stored or {}), **named}:
            raise UsageError(
                f"Missing option: {needed}.",
                "For example: evenhand check-consistency instructive-debiasing --model gpt2",
            )
    return validated(CheckOptions, {**(EARLIER if stored else {}), **(stored or {}), **named})
