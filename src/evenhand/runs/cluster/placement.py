"""Where a model or classifier runs: in this process, or on workers of a cluster; and calls that go to it.

Every run imports this file, so it imports the pool and its workers only for type checkers.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from evenhand.schema import AnsweredBefore, EvenhandError

if TYPE_CHECKING:
    from evenhand.runs.cluster.pool import Pool
    from evenhand.runs.cluster.work import Answers
    from evenhand.runs.cluster.worker import Recipe

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class RemoteObject:
    """An object that workers hold.

    pool: the workers. recipe: how workers create the object. read: function that returns the facts that are needed
    here, besides the fingerprint.
    """

    def __init__(self, pool: "Pool", recipe: "Recipe", read: Callable[[Any], dict[str, Any]]):
        self.pool, self.recipe = pool, recipe
        self.facts = pool.facts(recipe, read)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint, which is the same for the copies of all workers."""
        return cast(dict[str, Any], self.facts["fingerprint"])

    def describe(self) -> dict[str, Any]:
        """Return the description of the first worker's copy, the summed counts and speeds, and the number of
        workers."""
        return {**merge_descriptions(self.pool.description(self.recipe)), "workers": self.pool.number}

    def derive_recipe(self, make: Callable[[Any], Any]) -> "Recipe":
        """Return the recipe of the result of a function of this object, such as the model with mitigations."""
        from evenhand.runs.cluster.worker import Recipe

        return Recipe(make, self.recipe)

    def _divide_work(
        self,
        function: Callable[..., Any],
        piece: Callable[[int, int], tuple[Any, ...]],
        n: int,
        lost: Callable[[str], Any],
        join: Callable[["Answers"], Any],
    ) -> Any:
        def keep_results(error: EvenhandError, done: "Answers") -> None:
            places = [place for first, last, _ in done for place in range(first, last)]
            numbered, at = [], 0
            for first, last, answer in done:
                numbered.append((at, at + last - first, answer))
                at += last - first
            error.before = AnsweredBefore(self, places, join(numbered))

        return join(self.pool.apply_to_pieces(self.recipe, function, piece, n, lost, keep_results))


def run_where_loaded(
    function: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Result]:
    """Apply a function to a model in the process where it runs. The result must be serialisable."""

    @wraps(function)
    def run(model: Any, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        if isinstance(model, RemoteObject):
            return cast(Result, model.pool.apply(model.recipe, _call, run, arguments, named))
        return function(model, *arguments, **named)

    return cast(Callable[Concatenate[Any, Arguments], Result], run)


def count_copies(thing: object) -> int:
    """Return the number of copies of a model or classifier that run in parallel.

    >>> count_copies("a model of this process")
    1
    """
    return thing.pool.number if isinstance(thing, RemoteObject) else 1


def describe_workers(thing: object) -> dict[str, Any] | None:
    """Return a description of the workers on which a model or classifier runs; None for one in this process.

    >>> describe_workers("a model of this process") is None
    True
    """
    return thing.pool.record() if isinstance(thing, RemoteObject) else None


def merge_descriptions(descriptions: list[dict[str, Any]]) -> dict[str, Any]:
    """Merge the descriptions of several copies: those of the first, with counts of texts and speeds summed.

    >>> merge_descriptions([{"device": "cuda:0", "texts": 3}, {"device": "cuda:0", "texts": 4}])
    {'device': 'cuda:0', 'texts': 7}
    """
    first = dict(descriptions[0])
    for name in SUMMED & first.keys():
        values = [each.get(name) for each in descriptions]
        if all(isinstance(value, int | float) for value in values):
            first[name] = sum(cast(list[float], values))
    parts = [each["generation"] for each in descriptions if isinstance(each.get("generation"), dict)]
    if parts:
        first["generation"] = merge_descriptions(parts)
    return first


SUMMED = frozenset({"texts", "texts_judged", "calls", "tokens_per_second", "tokens", "prompts"})


def _call(model: Any, function: Callable[..., Any], arguments: Any, named: Any) -> Any:
    return function(model, *arguments, **named)
