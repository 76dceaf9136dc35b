"""Options of a study's model and how it is loaded; they are the same in every study."""

from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import field_validator

from evenhand.models import LanguageModel
from evenhand.runs import RUNS, RunDirectory
from evenhand.schema import DataError, ModelError, UsageError, is_a, is_file, is_folder
from evenhand.study import Count, Options
from evenhand.weights import check_device

Loaded = TypeVar("Loaded")


def name_of(thing: Any) -> str:
    """Return the name of a model, classifier or reviser for options: the given name, or that of the loaded object.

    >>> from evenhand.models.puppets import load_puppet
    >>> name_of("gpt2"), name_of(load_puppet("random"))
    ('gpt2', 'puppet/random')
    """
    return thing if isinstance(thing, str) else str(thing.fingerprint.get("name", type(thing).__name__))


def loaded_or_none(thing: Loaded | str | None) -> Loaded | None:
    """Return an object that is already loaded; None for a name, which the options load."""
    return None if isinstance(thing, str) else thing


class ModelOptions(Options):
    """A model by name, and everything about how it is loaded."""

    model: str
    """A hub name, a folder in Hugging Face format, or a name from `evenhand list models`."""
    dtype: str = "auto"
    device: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False
    chat: bool = False
    """Put each prompt as a user's message into the tokenizer's chat template, and let the assistant write."""
    system: str | None = None
    """With chat: the system message in front of the user's."""
    allow_longer: Literal["cut", "whole"] | None = None
    """What becomes of responses of a served model beyond the limit on tokens; None makes each an error row."""
    batch_tokens: Count | None = None
    """Tokens a batch; None chooses by device. Changes no number."""

    @field_validator("device")
    @classmethod
    def _device_by_name(cls, value: str) -> str:
        check_device(value)
        return value


def load_named_model(options: ModelOptions) -> LanguageModel:
    """Return the model that options name, with its device, precision, batch size and chat template.

    Studies call it to load a model as the user's options say.

    Parameters
    ----------
    options : ModelOptions
        The options.

    Returns
    -------
    LanguageModel
        The model.

    Raises
    ------
    UsageError
        There is a system message without chat, the chat option for a served model, or allow_longer for a
        model that is not served.
    EvenhandError
        The model cannot be loaded; see `evenhand.models.load_model`.
    """
    from evenhand.models import load_model

    if Path(options.model).parts[:1] == (RUNS,) and not is_folder(options.model):
        raise DataError(
            f"Folder not found: {options.model}.",
            "Give the folder that `evenhand audit` printed, or the name of a model. (For a Hugging Face model "
            f"whose owner is named {RUNS!r}, give a local copy.)",
        )
    if run := _run_inside(options.model):
        raise DataError(
            f"{options.model} is a folder of runs, not a run.", f"Give one of its runs, such as {run}."
        )
    model = load_model(
        _name_to_load(options),
        device=options.device,
        dtype=options.dtype,
        revision=options.revision,
        trust_remote_code=options.trust_remote_code,
        batch_tokens=options.batch_tokens,
        options=_chat_options(options),
    )
    if not is_a(model, LanguageModel):
        raise ModelError(
            f"{options.model} is not a language model.", "Its loader must return a language model."
        )
    return model


def _run_inside(name: str) -> Path | None:
    """Return a run in the folder of that name; None if it is not a folder, or is a model, or has no run."""
    folder = Path(name)
    if not is_folder(folder) or is_file(folder / "config.json"):
        return None
    return next((inner for inner in sorted(folder.iterdir()) if RunDirectory.is_run(inner)), None)


def _name_to_load(options: ModelOptions) -> str:
    """Return the model's name; for a served model, with the allowed options in its URL."""
    if options.allow_longer is None:
        return options.model
    from evenhand.models.served import is_address, with_option

    if not is_address(options.model):
        raise UsageError(
            f"`--allow-longer` is for served models. {options.model} never exceeds the token limit.",
            "Remove --allow-longer.",
        )
    return with_option(options.model, "allow_longer", options.allow_longer)


def check_chat(options: ModelOptions) -> None:
    """Raise UsageError if the chat options contradict each other or the kind of model."""
    if not options.chat:
        if options.system is not None:
            raise UsageError("`--system` requires `--chat`.", "Add --chat, or remove --system.")
        return
    from evenhand.models.served import is_address

    if is_address(options.model):
        raise UsageError(
            "`--chat` cannot be used with a served model: its URL sets the chat mode.",
            f"For example: {options.model.split('?')[0]}?chat=1 (and &system=...)",
        )


def _chat_options(options: ModelOptions) -> Any:
    check_chat(options)
    if not options.chat:
        return None
    from evenhand.models import PREFIX, VllmOptions
    from evenhand.models.huggingface import CausalOptions

    if options.model.startswith(PREFIX):
        return VllmOptions(chat=True, system=options.system)
    return CausalOptions(chat=True, system=options.system)
