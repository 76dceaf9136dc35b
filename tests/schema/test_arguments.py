"""Arguments held against their annotations: what is let through, and what is said of the rest."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pandas
import polars as pl
import pytest

from evenhand import stats
from evenhand.models import LanguageModel, TextGenerator
from evenhand.schema import (
    DataError,
    EvenhandError,
    UsageError,
    categories_as_text,
    check_fields,
    checked,
    is_a,
)


@checked
def draw(
    frame: pl.DataFrame | None = None,
    *more: int,
    n: int = 1,
    share: float = 0.5,
    alpha: float = 0.05,
    margin: float | None = None,
    seed: int = 0,
    name: str | None = None,
    names: Sequence[str] = (),
    file: Path | str = "",
    kind: Literal["left", "right"] = "left",
    sizes: Mapping[str, int] | None = None,
    values: npt.ArrayLike = (),
    pair: tuple[str, int] | None = None,
    done: Callable[[int], object] | None = None,
    clusters: npt.ArrayLike | None = None,
    resamples: int = 9,
    absent: "Unheard | None" = None,  # type: ignore[name-defined]  # noqa: F821
    **others: Any,
) -> int:
    return n


RIGHT: list[dict[str, Any]] = [
    {"n": np.int64(3), "share": 1, "alpha": np.float32(0.5), "seed": 2**63 - 1, "margin": 0},
    {"name": "x", "names": ["a"], "file": Path("a"), "kind": "right", "sizes": {"a": 1}},
    {"names": ("a", "b"), "values": [[1, 2], [3, 4]], "pair": ("a", 1), "done": print},
    {"names": np.array(["a"]), "values": np.zeros(3), "absent": 5, "anything": object()},
    {"frame": pl.DataFrame(), "values": pl.Series([1.0, None])},
]


@pytest.mark.parametrize("arguments", RIGHT)
def test_what_annotations_allow_passes(arguments: dict[str, Any]) -> None:
    assert draw(**arguments) == arguments.get("n", 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"n": 1.5}, "draw: invalid n=1.5; expected a whole number"),
        ({"n": True}, "n=True"),
        ({"share": float("nan")}, "share=nan; expected a number"),
        ({"share": "half"}, "share='half'"),
        ({"alpha": 1}, "alpha must be between 0 and 1"),
        ({"margin": -0.1}, "0 or more"),
        ({"margin": float("inf")}, "0 or more"),
        ({"seed": 2**63}, "from 0 to 2"),
        ({"seed": -1}, "from 0 to 2"),
        ({"name": 5}, "expected a text or None"),
        ({"name": "\ud800"}, "half a character"),
        ({"names": "abc"}, "several texts"),
        ({"names": ["a", 5]}, "several texts"),
        ({"file": 5}, "a path or a text"),
        ({"kind": "lefft"}, "Did you mean 'left'"),
        ({"sizes": {"a": "x"}}, "a mapping or None"),
        ({"values": ["x"]}, "an array of numbers"),
        ({"values": [[1], [1, 2]]}, "an array of numbers"),
        ({"pair": ("a", "b")}, "pair="),
        ({"done": 5}, "done=5"),
        ({"resamples": 0}, "resamples must be a whole number from 1 to 100,000, got 0"),
        ({"resamples": -1}, "resamples must be a whole number from 1 to 100,000, got -1"),
        ({"resamples": 10**18}, "from 1 to 100,000"),
        ({"values": [1.0, 1e308]}, "draw: values contains 1e+308 at position 1"),
        ({"values": [[1.0, 2.0], [float("inf"), 0.0]]}, "values contains inf at position (1, 0)"),
        ({"values": np.array([1.0, np.inf], "float32")}, "values contains inf at position 1"),
        ({"clusters": ["a", None]}, "clusters contains None at position 1 (1 of 2)"),
        ({"clusters": "x"}, "clusters='x'; expected an array of numbers or None"),
    ],
)
def test_what_they_do_not_is_named(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as error:
        draw(**arguments)
    assert told in str(error.value) and error.value.exit_code == 2


def test_numbers_of_32_bits_are_accepted_without_a_warning() -> None:
    draw(values=np.array([1.0, np.nan], "float32"))


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pandas.DataFrame({"a": [1]}), "pl.from_pandas(frame)"),
        (pl.LazyFrame({"a": [1]}), "frame.collect()"),
        ({"a": [1]}, "read: frame must be a polars DataFrame, got dict.\nGive"),
    ],
)
def test_a_table_that_is_none_of_polars_is_told_how_to_become_one(frame: Any, told: str) -> None:
    @checked
    def read(frame: pl.DataFrame) -> None: ...

    with pytest.raises(DataError) as error:
        read(frame)
    assert told in str(error.value)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_arrive_as_texts(kind: Any) -> None:
    @checked
    def read(frame: pl.DataFrame, column: pl.Series) -> list[Any]:
        return [*frame.dtypes, column.dtype]

    texts = pl.Series("x", ["a", "b"])
    table = pl.DataFrame({"x": texts, "y": [1, 2], "z": [["a"], ["b"]]}).cast({"x": kind, "z": pl.List(kind)})
    assert read(table, texts.cast(kind)) == [pl.String, pl.Int64, pl.List(pl.String), pl.String]
    plain = table.select("y")
    assert categories_as_text(plain) is plain


def test_a_long_value_is_shortened_in_a_message() -> None:
    with pytest.raises(UsageError) as error:
        raise UsageError(
            f"The group {'Z' * 1_000_000} is unknown.\nThe second line stays.", "Known: " + "a, " * 9999
        )
    message = str(error.value)
    assert len(message) < 5000 and "[... 998,022 characters ...]" in message
    assert "ZZ is unknown.\nThe second line stays.\nKnown: a, " in message


def test_fields_of_a_dataclass() -> None:
    @dataclass(frozen=True)
    class Pair:
        text: str
        card: str = ""

        def __post_init__(self) -> None:
            check_fields(self, "text")

    assert Pair("x", card=5).card == 5  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Pair: invalid text=5; expected a text"):
        Pair(5)  # type: ignore[arg-type]


def test_a_protocol_is_looked_for_without_reading_what_it_names():
    class Costly:
        architecture = "causal"
        log_likelihoods = describe = lambda self, *rest: None

        @property
        def fingerprint(self):
            raise AssertionError("a server would be asked")

    assert is_a(Costly(), LanguageModel)
    assert not is_a(Costly(), TextGenerator)
    assert not is_a(object(), LanguageModel)

    class ForTypeCheckers(Protocol):
        name: str

    with pytest.raises(TypeError):
        is_a(3, ForTypeCheckers)


WRONG = (
    0,
    1.5,
    "x",
    None,
    [],
    ["a"],
    {},
    {"a": 1},
    object(),
    np.zeros((2, 3)),
    np.array(["a"]),
    pl.DataFrame(),
)
PUBLIC = [
    (face, name)
    for face in ("evenhand.stats", "evenhand.measures")
    for name in sorted(import_module(face).__all__)
    if isinstance(getattr(import_module(face), name), FunctionType)
    if name != "bias_score_curves"  # accepts any table and draws for seconds
]


@pytest.mark.parametrize(("face", "name"), PUBLIC)
def test_public_functions_refuse_wrong_objects_by_an_error_of_ours(face: str, name: str) -> None:
    function = getattr(import_module(face), name)
    empty = inspect.Parameter.empty
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is empty]
    needed = [one for one in needed if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    for value in WRONG:
        positional = [value for one in needed if one.kind is not one.KEYWORD_ONLY]
        named = {one.name: value for one in needed if one.kind is one.KEYWORD_ONLY}
        with suppress(EvenhandError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # values that fit by chance, such as an empty list
            function(*positional, **named)


def _flat(error: UsageError) -> str:
    return " ".join(str(error).split())


VALUES, GROUPS = [0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"]
CODES = np.array([[0, 0, 1, 1]])
SUMS = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: stats.permutation_null(stats.group_gap, VALUES, GROUPS, seed=-1),
            "seed must be a whole number from 0 to 2**63 - 1, got -1",
        ),
        (
            lambda: stats.krippendorff_alpha([[1, 0], [1, 0]], level=2.0),
            "level must be between 0 and 1, got 2.0",
        ),
        (lambda: stats.pearson(SUMS[:, 0], SUMS[:, 0], np.arange(4), 10**400), "expected a number"),
        (lambda: stats.holm(np.ma.masked_array([0.1, 0.2], [True, False])), "p is a masked array"),
        (
            lambda: stats.group_gap(VALUES, np.full((1, 4), 2**64 - 1, np.uint64)),
            "labels contains 18446744073709551615",
        ),
        (lambda: stats.group_gap(VALUES, CODES - 1), "labels must contain codes from 0 to 3, got -1 to 0"),
        (
            lambda: stats.permutation_null(stats.group_gap, VALUES, ["a", 1, "b", 2], seed=0),
            "labels mixes labels of different types: 'a' at position 0 and 1 at position 1",
        ),
        (
            lambda: stats.permutation_null(
                stats.group_gap, VALUES, np.array(["a", 1, "b", 2], object), seed=0
            ),
            "labels mixes labels of different types",
        ),
        (
            lambda: stats.permutation_null(lambda v, c: None, VALUES, GROUPS, seed=0),
            "statistic returned None",
        ),
        (lambda: stats.permutation_null(lambda v, c: v, VALUES, GROUPS, seed=0), "array of shape (4,)"),
        (lambda: stats.permutation_null(lambda: 1, VALUES, GROUPS, seed=0), "statistic cannot be called"),
        (lambda: stats.sums_bootstrap(SUMS, GROUPS, lambda s: 1.0, seed=0), "array of shape ()"),
        (lambda: stats.exchange_test(SUMS, SUMS, GROUPS, lambda s: "x", seed=0), "str without real numbers"),
        (
            lambda: stats.cluster_t([1.0, -1.0], 3, ["a"]),
            "clusters must contain whole numbers of 0 or more, got ['a']",
        ),
        (lambda: stats.clustered_mean(SUMS[:, 0], ["a"], seed=0), "clusters of shape (1,)"),
        (lambda: stats.outlying_pairs([1.0], [1.0, 2.0]), "second of shape (2,)"),
        (lambda: stats.mean_of_known(SUMS, 2), "invalid axis=2: values has 2 dimensions"),
        (lambda: stats.jackknife([1.0, 2.0], [[1.0], [2.0]]), "an estimate of shape (2,)"),
        (lambda: stats.find_common_level(np.zeros(4), lambda r: None), "compare returned NoneType"),
        (lambda: stats.sign_flip_test(np.zeros((2, 2, 2))), "(m, n), got (2, 2, 2)"),
        (
            lambda: stats.remove_other_effects(np.zeros(2), [np.array([0, 9])] * 3, 0, 1),
            "columns[0] must contain codes from 0 to 1, got 0 to 9",
        ),
    ],
)
def test_statistics_name_the_argument_that_is_wrong(call: Callable[[], object], told: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert told in _flat(error.value)


def test_numbers_of_other_sizes_give_the_same_results() -> None:
    rising, other = np.array([1.0, 2, 3, 5]), np.array([2.0, 1, 4, 4])
    expected = stats.pearson(rising, other, np.arange(4))
    for kind in (np.longdouble, np.float16, np.uint64):
        assert stats.pearson(rising.astype(kind), other.astype(kind), np.arange(4)) == expected
    large = stats.pearson(
        (rising * 1e4).astype(np.float16), other, np.arange(4)
    )  # its squares exceed 16 bits
    assert large.estimate == pytest.approx(expected.estimate, abs=1e-3)
    assert stats.group_gap(VALUES, CODES.astype(np.uint64)).tolist() == [1.0]


def test_cluster_codes_need_not_be_consecutive() -> None:
    rising, other = np.array([1.0, 2, 3, 5]), np.array([2.0, 1, 4, 4])
    expected = stats.pearson(rising, other, np.array([0, 0, 1, 2]))
    assert stats.pearson(rising, other, np.array([-7, -7, 10**18, 2**62])) == expected
