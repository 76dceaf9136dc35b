"""The options of a consistency check."""

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator

from evenhand.measures.changes import Importance, Rule
from evenhand.schema import UsageError, is_folder, split_role
from evenhand.studies.model_options import ModelOptions
from evenhand.study import (
    Count,
    Flag,
    Seed,
    StudyOptions,
    StudyRecord,
    ToleranceOptions,
    unknown_value,
    validate_options,
)

PERSPECTIVE = (
    "perspective?attributes=TOXICITY,SEVERE_TOXICITY,SEXUALLY_EXPLICIT,THREAT,PROFANITY,IDENTITY_ATTACK"
)
"""The published judge with the published attributes."""
NOBODY = "none"
"""Value in place of a file of neutral prompts: test only the adversarial domain."""
MOST_GROUPS = 1000
"""Maximum number of nonsense wordings. Each needs a separate run; more than 100 add little."""
DESIGN = ("groups", "nonsense_prompts")
"""Options that a resumed study keeps unless they are given again."""


class CheckOptions(StudyOptions, ModelOptions, ToleranceOptions):
    """Options of a consistency check, in one place. Unknown names are refused.

    >>> CheckOptions.read({"method": "prefix=Be kind.", "model": "gpt2", "limit": None}).groups
    20
    """

    RECORD: ClassVar = StudyRecord("study.json", "consistency study", part="options")
    HIDDEN: ClassVar = ("role", "alpha")
    EARLIER: ClassVar = {"nonsense_prompts": None}

    method: str
    """Mitigation, in the format of `--mitigate`: NAME, NAME=VALUE or NAME?option=value."""
    model: str
    """Hugging Face model name, local model folder, or a name from `evenhand list models`."""
    prompts: Annotated[str | None, Flag(form="path")] = None
    """Your adversarial prompts (CSV, JSON Lines or Parquet). Default: the challenging prompts of
    RealToxicityPrompts."""
    neutral: str | None = None
    """Your neutral prompts, or none to test adversarial prompts only. Default: the neutral prompts of
    RealToxicityPrompts."""
    data: Annotated[dict[str, str], Flag(form="name=folder")] = Field(default_factory=dict)
    """Folder of a data set, as name=folder: --data realtoxicityprompts=FOLDER. Default: the cache."""
    limit: Count | None = None
    """Maximum number of prompts per domain, sampled with --seed."""
    opposite: tuple[str, ...] = ()
    """Opposite of the method's wording. Give it once for each text of the method. Default: the method's own
    opposite."""
    # the flag states no maximum, so that the error is that of the options
    groups: Annotated[int, Flag(high=inf, resume="free")] = Field(default=20, ge=1, le=MOST_GROUPS)
    """Number of nonsense wordings, sampled at random; at most 1,000. Default: 20."""
    # At the same cost, 300 prompts with 20 wordings give more power than 1,199 with 5
    # (docs/explanation/consistency.md).
    nonsense_prompts: int | None = Field(default=300, ge=2, le=2**31 - 1)
    """Number of prompts per domain for nonsense wordings. The other wordings use all prompts. Default: 300."""
    classifier: Annotated[str, Flag(resume="free")] = PERSPECTIVE
    """Classifier for the responses: NAME, or ROLE=NAME to name what its score measures. Default: perspective with the
    six published attributes."""
    role: Annotated[str, Flag(resume="free")] = "toxicity"
    """What a classifier with a single score measures. Default: toxicity."""
    attributes: Annotated[tuple[str, ...], Flag(resume="free", form="text")] = ()
    """Attributes of the classifier, comma-separated. Default: the published attributes that it has."""
    threshold: Annotated[float | None, Flag(resume="free")] = None
    """Minimum score of a harmful response. Default: 0.5, or the classifier's own decision."""
    rule: Annotated[Rule, Flag(resume="free")] = "tested"
    """Rule for the headline: tested (by confidence intervals), strict (by point estimates, as the paper states it) or
    paper (as its authors decided). Default: tested."""
    margin: Annotated[float, Flag(low=0, resume="free")] = Field(default=1.0, gt=0)
    """Smallest change in harm that counts as an effect, in percentage points. Default: 1.0."""
    importance: Annotated[Importance, Flag(resume="free")] = "share"
    """Limit for the effects of nonsense and of an empty wording: share (half of the method's effect) or points (the
    method's effect minus the margin). Default: share."""
    alpha: Annotated[float, Flag(resume="free")] = Field(default=0.05, gt=0, lt=1)
    """Significance level. Default: 0.05."""
    decoding: str = "auto"
    """Decoding settings: auto (published: 3 beams if the model supports them, otherwise greedy), beams, greedy, or a
    model family. Default: auto."""
    max_new_tokens: Count = 20
    """Maximum length of a response, in tokens. Default: 20."""
    seed: Seed = 0
    """Random seed. Default: 0."""

    @field_validator("decoding")
    @classmethod
    def _known_decoding(cls, value: str) -> str:
        from evenhand.models import PRESETS

        if value not in (known := ("auto", "beams", "greedy", *PRESETS)):
            raise unknown_value(value, known)
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

    @field_validator("attributes", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(filter(None, value.replace(" ", "").split(","))) if isinstance(value, str) else value

    @classmethod
    def prepare(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given options, with a role in front of the classifier as a separate option."""
        named = super().prepare(given)
        if isinstance(classifier := named.get("classifier"), str):
            role, named["classifier"] = split_role(classifier)
            named |= {"role": role} if role else {}
        return named

    @classmethod
    def read(cls, given: Mapping[str, Any], folder: Path | None = None) -> Self:
        """Return the options of a check. A check in `folder` keeps its nonsense wordings and their prompts."""
        begun = {}
        if folder is not None and cls.has_record(folder):
            begun = cls.read_stored(folder).model_dump(include=set(DESIGN))
        named = cls.prepare(given)
        if is_folder(method := str(named.get("method", ""))):
            raise UsageError(
                f"The folder {method} does not contain a consistency study.",
                "Give a mitigation, or the folder of a study.",
            )
        for needed in ("method", "model"):
            if needed not in named:
                raise UsageError(
                    f"Missing option: {needed}.",
                    "For example: evenhand check-consistency instructive-debiasing --model gpt2",
                )
        return validate_options(cls, {**begun, **named})

    def servers(self) -> list[str]:
        """Return the names of model and classifier, which may be servers."""
        return [self.model, self.classifier]

    def mitigations(self) -> list[str]:
        """Return the method."""
        return [self.method]
