"""Turn errors between a name and its files on the Hugging Face hub into messages that state what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evenhand.schema import ModelError


def is_offline() -> bool:
    """Return whether contacting the hub is forbidden (HF_HUB_OFFLINE)."""
    from huggingface_hub import is_offline_mode

    return bool(is_offline_mode())


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Switch off progress bars and load reports of transformers; a context manager.

    Only the command line of evenhand prints, and problems are raised as errors.
    """
    from transformers.utils import logging

    console: Any = logging
    level, bars = console.get_verbosity(), console.is_progress_bar_enabled()
    console.set_verbosity(console.CRITICAL)
    console.disable_progress_bar()
    try:
        yield
    finally:
        console.set_verbosity(level)
        if bars:
            console.enable_progress_bar()


@contextmanager
def hub_errors(
    name: str, revision: str | None = None, *, kind: str = "model", advice: str | None = None
) -> Iterator[None]:
    """Turn errors of transformers and the hub client into a ModelError while the block runs; a context manager.

    `name` is what is loaded. The message calls it `kind`. `advice` is the hint; without it, the hint depends
    on the error.
    """
    from huggingface_hub import errors
    from safetensors import SafetensorError

    expected = (OSError, ValueError, LookupError, ImportError, TypeError, AttributeError, RecursionError)
    try:
        yield
    except (
        *expected,
        ArithmeticError,
        AssertionError,
        MemoryError,
        errors.StrictDataclassError,
        SafetensorError,
    ) as error:
        explained = _make_hub_error(name, revision, kind, error)
        raise ModelError(explained.message, advice or explained.hint) from error


def _make_hub_error(name: str, revision: str | None, kind: str, error: BaseException) -> ModelError:
    from huggingface_hub import errors

    chain = _chain(error)

    def is_caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(link, kinds) for link in chain)

    text = " ".join(str(link) for link in chain)
    if is_caused_by(errors.GatedRepoError):
        return ModelError(
            f"The {kind} {name!r} is gated: its owner must grant access.",
            f"Accept its terms at https://huggingface.co/{name}, then log in with `hf auth login`.",
        )
    if is_caused_by(errors.RevisionNotFoundError):
        return ModelError(
            f"The {kind} {name!r} has no revision {revision!r}.",
            f"See its branches, tags and commits: https://huggingface.co/{name}/commits/main",
        )
    if is_caused_by(errors.RepositoryNotFoundError):
        return ModelError(
            f"Cannot find the {kind} {name!r} on the Hugging Face Hub. It does not exist, or is private.",
            "Check the spelling, give the path of a local folder, or log in with `hf auth login`.",
        )
    if is_caused_by(errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        if is_offline():
            return ModelError(
                f"Cannot load {kind} {name!r}: it is not in the local cache, and the Hugging Face Hub cannot be "
                "used (HF_HUB_OFFLINE is set).",
                "Unset HF_HUB_OFFLINE, or give the path of a local folder.",
            )
        return ModelError(
            f"Cannot load {name!r}: it is not in the local cache, and the Hugging Face Hub cannot be reached.",
            "Check your network connection or proxy, or give the path of a local model folder.",
        )
    if is_caused_by(errors.HFValidationError):
        return ModelError(
            f"{name!r} is neither a local folder nor a valid Hugging Face name (owner/name).",
            "Check the path. Relative paths start at the current folder.",
        )
    if "trust_remote_code" in text or "custom code" in text:
        return ModelError(
            f"The {kind} {name!r} contains its own Python code, which is not run without permission.",
            "Read the code. If you trust it, add --trust-remote-code (in Python: trust_remote_code).",
        )
    if "does not recognize this architecture" in text or "Unrecognized model" in text:
        return ModelError(
            f"The installed version of transformers does not support the architecture of {name!r}.",
            "Install a newer transformers, or check model_type in its config.json.",
        )
    if is_caused_by(RecursionError):
        return ModelError(
            f"A JSON file of {name!r} is nested too deeply.", "Download or copy the model again."
        )
    if is_caused_by(MemoryError) or "allocate memory" in text or "memory allocation" in text:
        return ModelError(
            f"Not enough memory to open {name!r}: {_first_line(error)}.",
            "Close other programs, or use a smaller model. The files are not damaged.",
        )
    return ModelError(
        f"{name!r} could not be opened ({type(error).__name__}: {_first_line(error)}).",
        "Check that the folder or the repository is complete, and made for this version of transformers.",
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "no message")


def _chain(error: BaseException | None) -> list[BaseException]:
    links: list[BaseException] = []
    while error is not None and error not in links:
        links.append(error)
        error = error.__cause__ or error.__context__
    return links
