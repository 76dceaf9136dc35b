"""The options of the study of names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, field_validator

from evenhand.models.dialogue import DialogueOptions
from evenhand.schema import UsageError
from evenhand.studies.model_options import ModelOptions
from evenhand.study import Count, Flag, SeedOptions, StudyOptions, StudyRecord, unknown_value

BASE = "original"
"""Label of the original model."""
ENDED = ("measurements.parquet", "findings.parquet", "headlines.parquet")
LABEL = re.compile(r"[\w][\w .+-]{0,59}")


class NamesConfig(StudyOptions, SeedOptions, ModelOptions):
    """Options of the study of names. Unknown names are refused.

    >>> NamesConfig.read({"model": "gpt2", "decoding": ()}).decoding
    ('greedy',)
    """

    RECORD: ClassVar = StudyRecord("names.json", "names study", part="options")
    HIDDEN: ClassVar = ("dialogue", "alpha", "allow_longer")
    FIXED: ClassVar = (
        "Remove these options to resume it, or start a new study with -o. Only rows can be added."
    )

    model: str
    """Conversational model (name or folder)."""
    rows: Annotated[dict[str, str], Flag(names=("--row",), form="LABEL=FOLDER", resume="more")] = Field(
        default_factory=dict
    )
    """Additional model to compare, as LABEL=FOLDER, such as a model made by `evenhand debias`. Repeatable."""
    decoding: Annotated[tuple[str, ...], Flag(form="list")] = ("greedy",)
    """Decoding settings, the same for all models: published (10 beams, at least 20 tokens), greedy or sampling.
    Repeatable, or comma-separated: each model is run with each of them. Default: greedy."""
    names: Literal["untuned", "all"] = "untuned"
    """First names on which the models are compared: untuned (names that no model was tuned on) or all. Default:
    untuned."""
    limit: Count | None = None
    """Maximum number of conversations per benchmark. Default: all, but 2,000 for names."""
    max_new_tokens: Count | None = None
    """Maximum length of a response, in tokens. Default: 60."""
    classifiers: Annotated[dict[str, str], Flag(names=("--classifier",), form="ROLE=NAME")] = Field(
        default_factory=dict
    )
    """Classifier for one role, as ROLE=NAME, for example offensiveness=vader. It replaces the word list that the role
    uses by default. Repeatable."""
    personas: Annotated[str | None, Flag(form="path")] = None
    """File of personas, two lines each. Default: the personas of evenhand."""
    dialogue: DialogueOptions = Field(default_factory=DialogueOptions)
    """Format of conversations."""
    data: Annotated[dict[str, str], Flag(form="NAME=FOLDER")] = Field(default_factory=dict)
    """Folder of crows-pairs or stereoset, as NAME=FOLDER. Default: the cache. Data sets that are not found are left
    out."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Significance level. Default: 0.05."""

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
        from evenhand.benchmarks import SelfChatDecoding

        known = get_args(SelfChatDecoding)
        unknown = [name for name in value if name not in known]
        if not value:
            raise ValueError(f"no value is given; expected at least one of {', '.join(known)}")
        if unknown:
            raise unknown_value(unknown[0], known)
        return tuple(dict.fromkeys(value))

    @property
    def models(self) -> dict[str, str]:
        """Return the models by label, the base model first."""
        return {BASE: self.model, **self.rows}

    def update(self, given: Mapping[str, Any], folder: Path) -> Self:
        """Return the options with given values in place of these. Rows are added, or replace unfinished ones."""
        rows = {**self.rows, **given.get("rows", {})}
        open_rows = list_unfinished_rows(folder, self)
        changed = [label for label, model in self.rows.items() if rows[label] != model]
        if finished := [label for label in changed if label not in open_rows]:
            raise UsageError(
                f"{folder} already has a row {finished[0]!r}.", "Use another label for the new row."
            )
        return super().update({**given, "rows": rows}, folder)

    def comparable(self, before: Self, folder: Path) -> dict[str, Any]:
        """Return the options that must equal those of the stored study: added and unfinished rows may differ."""
        anew = {label for label in list_unfinished_rows(folder, before) if label in self.rows}
        rows = {
            label: model if label in anew else self.rows.get(label) for label, model in before.rows.items()
        }
        return {**self.deciding(), "rows": rows}

    def servers(self) -> list[str]:
        """Return the names of all models and classifiers, which may be servers."""
        return [*self.models.values(), *self.classifiers.values()]


def slug(label: str) -> str:
    """Return a label in a form that is valid as the name of a folder.

    >>> slug("Name scrambling"), slug("BB 90M")
    ('name-scrambling', 'bb-90m')
    """
    return re.sub(r"[^\w.+]+", "-", label.lower()).strip("-.")


def is_finished(folder: Path) -> bool:
    """Return whether all measures of a run were computed.

    >>> is_finished(Path("nowhere"))
    False
    """
    from evenhand.runs import RunDirectory

    return all((folder / name).is_file() for name in ENDED) and bool(
        RunDirectory.open(folder).manifest.details
    )


def list_unfinished_rows(path: Path, config: NamesConfig) -> list[str]:
    """Return the rows, including the base row, whose self-chats are not complete yet; in order."""
    return [
        label
        for label in config.models
        if not all(is_finished(path / "rows" / slug(label) / decoding) for decoding in config.decoding)
    ]
