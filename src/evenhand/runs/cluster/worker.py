"""Code that runs in a worker: it makes the requested models and classifiers, keeps them, and reports the results."""

import os
import platform
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from evenhand.runs.environment import installed_versions
from evenhand.schema import EvenhandError, is_folder, without_surrogates

LONGEST = 500
"""Maximum number of characters of another program's message."""


@dataclass(frozen=True)
class Recipe:
    """Instructions for a worker to create a model or classifier, so that no weights are sent.

    `make` is a function of a module, or a `partial` of one. `of` is the recipe of its argument, such as the model for a
    mitigation; None: no argument.
    """

    make: Callable[..., Any]
    of: "Recipe | None" = None
    key: str = field(default_factory=lambda: uuid4().hex)
    """Return the key under which workers store the created object."""


@dataclass(frozen=True)
class TaskResult:
    """A response, the description of the model afterwards, and the duration."""

    answer: Any
    description: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class TaskRefusal:
    """An error with a message for the user, as plain data, because exceptions with custom arguments cannot be sent."""

    kind: type[EvenhandError]
    message: str
    hint: str | None

    def error(self) -> EvenhandError:
        """Return the error as a new object."""
        error = self.kind.__new__(self.kind)
        EvenhandError.__init__(error, self.message, self.hint)
        return error


@dataclass(frozen=True)
class TaskFailure:
    """Any other exception, for example of a backend that failed on a text."""

    name: str
    message: str
    trace: str

    def error(self) -> Exception:
        """Return an exception with the same name and message, so that error rows are the same as without workers."""
        base = MemoryError if self.name == "MemoryError" else RuntimeError
        error: Exception = type(self.name, (base,), {"__module__": __name__})(self.message)
        error.add_note(self.trace)
        return error


class Worker:
    """One process of a cluster, which handles one request at a time.

    `folder` is the base of relative paths, if this machine has it.
    """

    def __init__(self, folder: str | None = None) -> None:
        self._things: dict[str, Any] = {}
        if folder is not None and is_folder(folder):
            os.chdir(folder)

    def do(
        self, recipe: Recipe, function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> TaskResult | TaskRefusal | TaskFailure:
        """Apply `function` to the object of a recipe and the arguments. The object is created if necessary."""
        try:
            thing = self._thing(recipe)
            began = time.monotonic()
            answer = function(thing, *arguments)
            return TaskResult(answer, thing.describe(), time.monotonic() - began)
        except EvenhandError as error:
            return TaskRefusal(type(error), error.message, error.hint)
        # a backend may be external code, which can raise any exception for a text
        except Exception as error:
            message = without_surrogates(str(error)[:LONGEST])
            return TaskFailure(type(error).__name__, message, traceback.format_exc(limit=-5))

    def where(self) -> dict[str, Any]:
        """Return the machine of this process, its accelerators and its versions."""
        return {
            "node": socket.gethostname(),
            "pid": os.getpid(),
            "accelerators": os.environ.get("CUDA_VISIBLE_DEVICES") or None,
            "machine": platform.machine(),
            "versions": installed_versions(),
        }

    def _thing(self, recipe: Recipe) -> Any:
        if recipe.key not in self._things:
            made = recipe.make() if recipe.of is None else recipe.make(self._thing(recipe.of))
            self._things[recipe.key] = made
        return self._things[recipe.key]
