"""Check whether the extra for Hugging Face models is installed, and raise the same error everywhere if it is not."""

from importlib.util import find_spec
from typing import Any

from evenhand.schema import HuggingFaceMissing

PACKAGES = ("torch", "transformers")


def has_hugging_face() -> bool:
    """Return whether torch and transformers are installed; neither is imported."""
    return not _missing()


def need_hugging_face(what: str) -> None:
    """Raise HuggingFaceMissing if torch or transformers is not installed.

    `what` is the subject that needs them, with which the message begins.
    """
    if missing := _missing():
        more = "are not installed" if len(missing) > 1 else "is not installed"
        raise HuggingFaceMissing(f"{what} needs {' and '.join(missing)}, which {more}.")


def refuse_light(model: Any, what: str) -> None:
    """Raise HuggingFaceMissing for a model that runs without torch only because torch is not installed.

    `model` is the loaded model. `what` is the request that needs its weights in torch, with which the message
    begins.
    """
    if getattr(model, "is_light", False):
        need_hugging_face(what)


def _missing() -> list[str]:
    return [package for package in PACKAGES if find_spec(package) is None]
