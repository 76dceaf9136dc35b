"""Options of a study's model and how it is loaded; they are the same in every study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import field_validator

from evenhand.schema import DataError, ModelError, UsageError, is_file, is_folder
from evenhand.study import Count, Flag, Options

if TYPE_CHECKING:
    from evenhand.models import LanguageModel


class ModelOptions(Options):
    """A model by name, and everything about how it is loaded."""

    model: str
    """A hub name, a folder in Hugging Face format, or a name from `evenhand list models`."""
    dtype: str = "auto"
    """Precision: auto, float32, bfloat16 or float16. Default: auto."""
    device: Annotated[str, Flag(resume="free")] = "auto"
    """Device: auto, cpu, cuda, cuda:1 or mps. Default: auto."""
    revision: str | None = None
    """Branch, tag or commit of a Hugging Face model."""
    trust_remote_code: Annotated[bool, Flag(resume="again")] = False
    """Run Python code from the model's repository. Use only with models that you trust."""
    batch_tokens: Annotated[Count | None, Flag(resume="free")] = None
    """Tokens per batch. Affects speed and memory, not results. Default: chosen for the device."""
    chat: bool = False
    """Send each prompt as a user message in the model's chat template."""
    system: str | None = None
    """System message. Requires --chat."""
    allow_longer: Literal["cut", "whole"] | None = None
    """For served models that ignore the token limit, as many products do: accept longer responses and shorten them
    (cut) or keep them (whole). Default: such a response counts as failed."""

    @field_validator("device")
    @classmethod
    def _device_by_name(cls, value: str) -> str:
        from evenhand.weights import check_device

        check_device(value)
        return value


def load_named_model(options: ModelOptions) -> "LanguageModel":
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
    from evenhand.models import LanguageModel, load_model
    from evenhand.runs import RUNS
    from evenhand.schema import is_a

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
            f"{options.model} is not a language model.",
            "The function that its package registers must return an evenhand.models.LanguageModel.",
        )
    return model


def _run_inside(name: str) -> Path | None:
    """Return a run that is in the folder `name`.

    Returns None if `name` is not a folder, is the folder of a model, or contains no run.
    """
    from evenhand.runs import RunDirectory

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
    """Raise UsageError if the chat options contradict each other, or cannot be used with this type of model."""
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
