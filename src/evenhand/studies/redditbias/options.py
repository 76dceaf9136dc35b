"""The options of the study of RedditBias."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

# lazy packages: what computes is imported when it is used, not when the help is shown
from evenhand.mitigations import training
from evenhand.prompts import redditbias as pairs
from evenhand.schema import UsageError, split_options
from evenhand.studies.model_options import ModelOptions
from evenhand.study import Count, Flag, SeedOptions, StudyOptions, StudyRecord, unknown_value

METHODS = ("lmd", "add", "hd", "cda")
PUBLISHED = {
    "lmd": "as_published=true",
    "add": "as_published=true",
    "hd": "as_published=true",
    "cda": "by=published",
}
"""Options with which a method behaves as in the published program, by method."""
OWN = "evenhand/"
"""Prefix of an axis of evenhand's own sentences, which can be given in place of a bias type of RedditBias."""
BASE, CONTROL = "base", "control"
"""Names of the original model, and of a model trained on the same texts without a method."""
WEIGHT = "weight"
"""Option of a method that is the weight of its debiasing term."""
PLAIN = "lmd?weight=0"
"""Language modelling on the unchanged texts, without a debiasing method."""


@dataclass(frozen=True)
class StudyModel:
    """A model of the study: the key of its files, its name in tables, and its origin.

    Attributes
    ----------
    key
        Name of the model's files and folders.
    name
        Name of the model in tables.
    bias
        Bias type or axis that the training reduces. None for the original model.
    words
        Debiasing method with its options, as in `evenhand debias --method`. None for the original model.
    control
        Name of its control, a model that was trained without the method. None if it has no control.
    steps_of
        For a control: key of the model whose number of training steps it copies. None: all methods take the same
        number of steps.
    """

    key: str
    name: str
    bias: str | None = None
    words: str | None = None
    control: str | None = None
    steps_of: str | None = None

    @property
    def is_control(self) -> bool:
        """Return whether the model was added as a control."""
        return self.name.startswith(CONTROL)


class RedditBiasConfig(StudyOptions, SeedOptions, ModelOptions):
    """Options of the RedditBias study. Unknown names are refused.

    >>> RedditBiasConfig.read({"model": "gpt2", "bias": ("race",), "methods": ()}).methods
    ('lmd', 'add', 'hd', 'cda')
    """

    RECORD: ClassVar = StudyRecord("redditbias.json", "RedditBias study", part="options")
    HIDDEN: ClassVar = ("alpha", "dtype", "chat", "system", "allow_longer")
    FIXED: ClassVar = "Remove these options to resume it, or start a new study with -o."

    model: str
    """Causal Hugging Face model (name or folder) or evenhand/reference."""
    bias: Annotated[tuple[str, ...], Flag(names=("--bias", "-b"), form="list")] = ("religion1",)
    """Bias to measure: religion1, religion2, race, gender, orientation, or evenhand/AXIS for the sentences of evenhand
    itself, which need no network. Repeatable, or comma-separated. Default: religion1."""
    methods: Annotated[tuple[str, ...], Flag(names=("--methods", "-m"), form="list")] = METHODS
    """Debiasing methods, in the format of `evenhand debias --method`, comma-separated. Default: lmd,add,hd,cda."""
    source: Annotated[str | None, Flag(names=("--from",), form="path")] = None
    """Folder of the RedditBias files. Default: the cache of `evenhand data fetch`."""
    multiwoz: Annotated[str | None, Flag(form="path")] = None
    """MultiWOZ_2.0.zip or its folder; the content is not verified. Required to measure state tracking."""
    dstc7: Annotated[str | None, Flag(form="path")] = None
    """Folder of the DSTC7 files; the content is not verified. Required to measure response generation."""
    control: Annotated[bool, Flag(names=("--control/--no-control",))] = True
    """Also train a control: the same texts and number of steps, without a method. The effect of a method is its
    difference from the control. Default: yes."""
    as_published: bool = False
    """Reproduce the quirks of the published programs in methods and tasks."""
    task_limit: Annotated[Count | None, Flag(low=2)] = None
    """Maximum number of training and test examples per dialogue task. Default: all."""
    epochs: float | None = Field(default=None, gt=0)
    """Number of passes over the texts. Default: 2; 1 for the sentences of evenhand."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Significance level. Default: 0.05."""

    @field_validator("bias")
    @classmethod
    def _known_bias(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        known = (*pairs.BIAS_TYPES, *(f"{OWN}{axis}" for axis in training.own_axes()))
        unknown = [bias for bias in value if bias not in known]
        if not value:
            raise ValueError(f"no value is given; expected at least one of {', '.join(known)}")
        if unknown:
            raise unknown_value(unknown[0], known)
        return tuple(dict.fromkeys(value))

    @field_validator("methods")
    @classmethod
    def _known_methods(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for words in value:
            try:
                training.load_method(words)
            except UsageError as error:
                raise ValueError(str(error)) from error
        return tuple(dict.fromkeys(value))

    @property
    def models(self) -> list[StudyModel]:
        """Return all models of the study: the original one, then for each bias the debiased models and their
        controls.
        """
        made = [StudyModel(BASE, BASE)]
        for bias in self.bias:
            controls: dict[str, StudyModel] = {}
            for words in self.methods:
                key, held_against = f"{slug(bias)}-{slug(words)}", None
                if self.control and not is_plain(words):
                    one = self._control(bias, words)
                    held_against = one.name
                    if one.name not in (BASE, *self.methods):
                        controls.setdefault(one.key, one)
                made.append(StudyModel(key, words, bias, words, held_against))
            made += controls.values()
        return made

    def _control(self, bias: str, words: str) -> StudyModel:
        """Return the control of a method: the same texts and steps with weight 0, or plain fine-tuning.

        The control of a method without training is the original model."""
        if not isinstance(
            training.load_method(words), training.TrainingMethod
        ):  # a projection is not trained on texts
            return StudyModel("", BASE)
        same = next((plain for plain in self.methods if is_plain(plain)), None)
        if not _is_weighted(words):
            called = f"{CONTROL} of {words}"
            key = f"{slug(bias)}-{slug(called)}"
            return StudyModel(key, called, bias, PLAIN, steps_of=f"{slug(bias)}-{slug(words)}")
        if same is not None:
            return StudyModel("", same, bias, same)
        if training.load_method(words).parameters().get("lm_weight", 1.0) == 1.0:
            return StudyModel(f"{slug(bias)}-{CONTROL}", CONTROL, bias, PLAIN)
        name, _, given = words.partition("?")
        kept = [part for part in given.split("&") if part and not part.startswith(f"{WEIGHT}=")]
        called = f"{CONTROL} of {words}"
        plain = f"{name}?{'&'.join([*kept, f'{WEIGHT}=0'])}"
        return StudyModel(f"{slug(bias)}-{slug(called)}", called, bias, plain)

    @property
    def folder(self) -> Path | None:
        """Return the folder of RedditBias' files."""
        return None if self.source is None else Path(self.source).expanduser()

    def words(self, method: str) -> str:
        """Return the options of a method. With `as_published`, they are the published ones unless you gave some."""
        if not self.as_published or "?" in method or method not in PUBLISHED:
            return method
        return f"{method}?{PUBLISHED[method]}"


def is_plain(words: str) -> bool:
    """Return whether a method is only language modelling on its texts.

    >>> is_plain("hd?weight=0"), is_plain("hd"), is_plain("cda")
    (True, False, False)
    """
    return _is_weighted(words) and training.load_method(words).parameters()[WEIGHT] == 0


def _is_weighted(words: str) -> bool:
    return WEIGHT in training.method_options(split_options(words)[0])


def slug(words: str) -> str:
    """Return a method in a form that is valid as the name of a folder.

    >>> slug("evenhand/religion"), slug("lmd?weight=50.0")
    ('evenhand-religion', 'lmd-weight-50-0')
    """
    return re.sub(r"[^\w]+", "-", words).strip("-")
