"""The options of an audit, from a file, from `--set` and from flags."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from evenhand.benchmarks import SelfChatDecoding
from evenhand.models import PRESETS
from evenhand.models.dialogue import DialogueOptions
from evenhand.schema import ResumeRefused, UsageError
from evenhand.studies.model_options import ModelOptions
from evenhand.studies.placing import PlaceOptions
from evenhand.study import (
    Count,
    MeasuringOptions,
    Options,
    SeedOptions,
    ToleranceOptions,
    assign,
    problems,
    read_options_file,
    unknown_value,
    validate_options,
)

SAME_RESULTS = frozenset({"device", "batch_tokens", "error_threshold", "retry_errors", "on", "workers"})
"""Options that may differ when a run is resumed, because they do not change its results."""
NAMED_ANEW = frozenset({"trust_remote_code"})
"""Options that a run folder cannot set: give them again when you resume a run."""
COUNTERFACTUAL = "counterfactual"
"""Name of the benchmark that inserts other groups into the user's own prompts."""
DECODINGS = tuple(dict.fromkeys(["auto", "greedy", *get_args(SelfChatDecoding), *PRESETS]))


class AskingOptions(SeedOptions):
    """Options of benchmarks, prompts and decoding.

    >>> AskingOptions(limit=5, seed=1).model_dump(include={"limit", "seed"})
    {'seed': 1, 'limit': 5}
    """

    suite: str | None = Field(default=None, min_length=1)
    benchmarks: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Additional benchmarks, which run with their own prompts and on all their axes."""
    limit: Count | None = None
    """Maximum number of prompts per benchmark. None: the limit of the suite, or all."""
    axes: tuple[str, ...] = ()
    """Axes (such as religion) to run. Empty: all."""
    prompts: str | None = None
    """File with your own prompts, which replace those of the benchmark."""
    counterfactual: tuple[str, ...] = ()
    """Axes whose groups are inserted into your own prompts: gender, name, religion, ..., or with groups, as in
    `religion:Christian/Muslim`.

    "reviewed" uses the file as it is. The option selects the benchmark counterfactual.
    """
    style_variations: float = Field(default=0.0, ge=0, le=1)
    """Probability of each of HolisticBias' four style variations of a sentence. The published code uses 0.5."""
    personas: str | None = None
    """File of personas, two lines each. A persona precedes each prompt, as in HolisticBias for dialogue models. In
    conversations, each speaker gets one.
    """
    dialogue: DialogueOptions = DialogueOptions()
    """Format of conversations: `dialogue.format` and the other fields of `DialogueOptions`."""
    data: dict[str, str] = Field(default_factory=dict)
    """Folders of published data sets, by name. Other data sets are read from the cache of `evenhand data fetch`."""
    decoding: str = "auto"
    """Preset of decoding settings: auto, greedy or the name of a model family.

    "auto" uses the preset of the model's family, or, for conversations, that of the benchmark. Conversations also
    accept published and sampling.
    """
    temperature: float | None = Field(default=None, gt=0)
    """Sampling temperature. None: as in the preset."""
    top_k: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Top-k filter. 0 turns it off; None: as in the preset."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Nucleus (top-p) filter. 1 turns it off; None: as in the preset."""
    num_beams: int | None = Field(default=None, ge=2, le=2**31 - 1)
    """Number of beams: beam search instead of sampling."""
    samples: int | None = Field(default=None, ge=1, le=2**16)
    """Number of continuations per prompt. None: as the benchmark defines."""
    max_new_tokens: Count | None = None
    """Maximum number of tokens of a continuation. None: as the benchmark defines."""

    timing_runs: int = Field(default=0, ge=0)
    """Number of repeated generations with which `evenhand before-after` measures time, with CIs. The paper used 5."""

    @model_validator(mode="before")
    @classmethod
    def _of_own_prompts(cls, given: Any) -> Any:
        """Return options in which axes given as one text are split at commas, and which select the counterfactual
        benchmark.
        """
        if not isinstance(given, Mapping) or not given.get("counterfactual"):
            return given
        axes = given["counterfactual"]
        if isinstance(axes, str):
            axes = [axes]
        if not isinstance(axes, Sequence) or not all(isinstance(axis, str) for axis in axes):
            return given
        listed = [word.strip() for axis in axes for word in axis.split(",") if word.strip()]
        named = tuple(given.get("benchmarks") or ())
        if given.get("suite") or named not in ((), (COUNTERFACTUAL,)):
            raise UsageError(
                "`counterfactual` asks your own prompts about other groups and cannot be combined with a suite or "
                "another benchmark.",
                "Remove --suite and --benchmark, and run them in a separate audit.",
            )
        if not given.get("prompts"):
            raise UsageError(
                "`--counterfactual` requires `--prompts`.",
                "Give a file of your prompts with a column `text`: --prompts MINE.csv",
            )
        return {**given, "counterfactual": listed, "benchmarks": (COUNTERFACTUAL,)}

    @field_validator("decoding")
    @classmethod
    def _known_decoding(cls, value: str) -> str:
        if value not in DECODINGS:
            raise unknown_value(value, DECODINGS)
        return value

    @property
    def folders(self) -> dict[str, Path]:
        """Return `data` with paths, in which `~` is expanded."""
        return {name: Path(folder).expanduser() for name, folder in self.data.items()}


class LabellingOptions(Options):
    """Options of classifiers."""

    classifiers: dict[str, str] = Field(default_factory=dict)
    """Classifiers that replace the published ones, by role (toxicity, regard, ...)."""


# Fields are ordered by bases from right to left, so the model comes first.
class AuditConfig(
    ToleranceOptions, MeasuringOptions, LabellingOptions, AskingOptions, PlaceOptions, ModelOptions
):
    """All options of an audit. Unknown names are refused.

    Every run folder stores them. For developers: the default of a new option must keep the earlier behaviour, because
    it applies to resumed runs of earlier versions.
    """

    mitigate: tuple[str, ...] = ()
    """Mitigations of the model in the order of application, as in `--mitigate`."""

    def same_results(self) -> dict[str, Any]:
        """Return the options that affect results, JSON-serialisable."""
        return self.model_dump(mode="json", exclude=set(SAME_RESULTS))

    def comparable_with(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that determine results, in a form that can be compared with those of a stored run.

        Options that the run does not store, because its version did not have them, are left out if they have their
        default. Options in NAMED_ANEW are copied from the run, because they may differ.

        Parameters
        ----------
        stored : mapping
            The resolved options of the run.

        >>> AuditConfig(model="m").comparable_with({"model": "m", "seed": 0})
        {'model': 'm', 'seed': 0}
        """
        untouched = AuditConfig(model=self.model).same_results()
        now = {**self.same_results(), **{name: stored.get(name, untouched[name]) for name in NAMED_ANEW}}
        return {name: value for name, value in now.items() if name in stored or value != untouched[name]}


def stored_config(stored: Mapping[str, Any], where: Path) -> AuditConfig:
    """Return the options with which a run was started. Options that its version did not have get their defaults.

    Parameters
    ----------
    stored : mapping
        Resolved options in the run's manifest.
    where : path
        Folder of the run, for error messages.

    Raises
    ------
    ResumeRefused
        The options name no model, or include an option that this version does not have.
    """
    if "model" not in stored:
        raise ResumeRefused(f"The stored options of the run {where} do not name a model.", "Start a new run.")
    try:
        return AuditConfig.model_validate(dict(stored))
    except ValidationError as error:
        raise ResumeRefused(
            f"The options stored in {where} do not fit this version of evenhand: {problems(error)}.",
            "Resume with the version that started the run (see manifest.json), or start a new run.",
        ) from error


def read_config(file: Path | None, settings: Sequence[str], given: Mapping[str, Any]) -> AuditConfig:
    """Build the options: file first, then `--set a.b=c`, then flags (None means not given).

    Raises UsageError naming the option that is wrong, and DataError for an unreadable file.

    >>> read_config(None, ["margin=0.1", "data.holisticbias=/tmp/hb"], {"model": "gpt2"}).data
    {'holisticbias': '/tmp/hb'}
    """
    options: dict[str, Any] = read_options_file(file) if file else {}
    sources = dict.fromkeys(map(str, options), str(file))
    for setting in settings:
        assign(options, setting)
        sources[setting.partition("=")[0].partition(".")[0]] = f"--set {setting}"
    flags = {name: value for name, value in given.items() if value is not None and value != ()}
    options.update(flags)
    if "model" not in options:
        raise UsageError(
            "Missing argument: MODEL.",
            "Give a model, for example evenhand audit gpt2, or set `model:` in the configuration file "
            "(--config).",
        )
    return validate_options(
        AuditConfig, options, {name: sources[name] for name in sources.keys() - flags.keys()}
    )
