"""Run a study's model and classifiers in this process or in the workers of a cluster (`--on`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self

from pydantic import field_validator, model_validator

from evenhand.mitigations import Mitigation, mitigated
from evenhand.models import LanguageModel
from evenhand.models.served import is_address
from evenhand.runs.cluster import Pool, Recipe, RemoteModel, check_place, load_remote_model, start_workers
from evenhand.schema import UsageError
from evenhand.studies.model_options import ModelOptions, load_named_model
from evenhand.study import Count, Options


class PlaceOptions(Options):
    """Options that state where models and classifiers run. They affect results only by rounding errors."""

    on: str | None = None
    """A cluster: ray (a temporary one on this machine), auto (the one to which this machine belongs) or
    ray://HOST:PORT. None: this process."""
    workers: Count | None = None
    """Workers on it, each with a copy of the model; None: one for each accelerator of the cluster, or for each
    processor where there is none."""

    @field_validator("on")
    @classmethod
    def _a_cluster(cls, value: str | None) -> str | None:
        return None if value is None else check_place(value)

    @model_validator(mode="after")
    def _workers_somewhere(self) -> Self:
        if self.workers is not None and self.on is None:
            raise UsageError("`--workers` requires `--on`.", "For example: --on ray --workers 2")
        return self


@contextmanager
def start_place(
    place: PlaceOptions, device: str = "auto", note: Callable[[str], None] | None = None
) -> Iterator[Pool | None]:
    """Context manager that starts the workers that the options request, and stops them at the end.

    Parameters
    ----------
    place : PlaceOptions
        Where models and classifiers run.
    device : str, default "auto"
        Device of models and classifiers.
    note : callable, optional
        Called with messages for the user.

    Yields
    ------
    Pool or None
        The workers. None if everything runs in this process.

    Raises
    ------
    UsageError
        `device` is the number of a single accelerator, but the options name a cluster.
    EvenhandError
        The workers cannot be started; see `start_workers`.
    """
    if place.on is None:
        yield None
        return
    if ":" in device:
        raise UsageError(
            f"`--device {device}` names one accelerator of one machine, but with `--on {place.on}` each worker has "
            "its own.",
            "Remove --device, or use --device cuda or --device cpu.",
        )
    with start_workers(place.on, place.workers, accelerated=device != "cpu", note=note) as pool:
        yield pool


def far_named_model(
    pool: Pool, options: ModelOptions, chain: Sequence[str | Mitigation] = ()
) -> LanguageModel:
    """Return the model of the options with mitigations, with a copy in each worker.

    Raises UsageError for a served model, and the errors of loading and mitigating it in a worker.
    """
    if is_address(options.model):
        raise UsageError(
            f"`--on` cannot be used with {options.model}: a served model runs on its server, so workers have no "
            "effect.",
            "Remove --on. Requests are already sent in parallel (concurrency=... in the URL), within the limits "
            "of the server.",
        )
    # Only options of this class are sent: the other options of an audit do not affect how its model is loaded.
    how = ModelOptions.model_validate(options.model_dump(include=set(ModelOptions.model_fields)))
    recipe = Recipe(partial(load_named_model, how))
    return load_remote_model(
        pool, Recipe(partial(_apply_mitigations, tuple(chain)), recipe) if chain else recipe
    )


def refuse_objects(place: PlaceOptions, model: LanguageModel | None) -> None:
    """Raise UsageError for a model in the memory of this process, which workers cannot load."""
    if place.on is not None and model is not None and not isinstance(model, RemoteModel):
        raise UsageError(
            f"`on` cannot be used with a {type(model).__name__} in memory: workers load models by name.",
            "Give the name or folder of the model, or remove `on`.",
        )


def here_only(place: PlaceOptions, verb: str, instead: str) -> None:
    """Raise UsageError if the options name a cluster, for a command that runs in one process only.

    verb: name of the command. instead: advice to the user.
    """
    if place.on is not None:
        raise UsageError(f"`--on {place.on}` cannot be used with {verb}, which runs in one process.", instead)


def find_pool(model: LanguageModel) -> Pool | None:
    """Return the workers in which a model is loaded; None if it is in the memory of this process."""
    return model.pool if isinstance(model, RemoteModel) else None


def _apply_mitigations(chain: Sequence[str | Mitigation], model: LanguageModel) -> LanguageModel:
    return mitigated(model, chain)
