"""The bias specifications of RedditBias: who is compared, by which words, and the constants of its published code.

Those of the five published types are in specifications/*.toml; a custom file has the same form.
"""

import re
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.prompts.counterfactual import axes
from evenhand.prompts.redditbias.toml_tables import Table
from evenhand.schema import DataError, is_file, parse_toml, unknown_name

BIAS_TYPES = ("religion1", "religion2", "race", "gender", "orientation")
"""The published types, in the paper's order."""
FOLDER = Path(__file__).with_name("specifications")
FORMAT = (
    "Expected the form of prompts/redditbias/specifications/*.toml: bias, minoritised, dominant, [retrieval] with "
    "targets and attributes, [filtering] with window_targets, [counterparts] with target_pairs; see "
    "docs/how-to/build_redditbias_pairs.md."
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class OneWay:
    """A pair that is not swapped but only replaced, T1 by T2, in some texts."""

    pair: Pair
    """One of the target pairs."""
    where: tuple[str, ...]
    """If any of these occurs in the running text, also inside words."""


@dataclass(frozen=True)
class Piece:
    """A byte-pair piece of GPT-2's vocabulary, as the published code names it by its id."""

    text: str
    """As the tokenizer prints it, a space in front included; "" where the id is beyond the vocabulary."""
    id: int


@dataclass(frozen=True)
class Misprint:
    """An id that the published code has wrong: a comma was lost between it and the 0 behind it."""

    published: int
    meant: int
    piece: str
    """The text of the id that was meant."""


@dataclass(frozen=True)
class Pieces:
    """The hard-coded pieces of the published losses; empty for types that were not published."""

    lmd_targets: tuple[tuple[Piece, Piece], ...] = ()
    """(T1, T2) of the equalising loss (LMD)."""
    projection_targets: tuple[tuple[Piece, Piece], ...] = ()
    """(T1, T2) of attribute distance (ADD) and hard debiasing (HD)."""
    attributes: tuple[tuple[Piece, ...], ...] = ()
    """The attributes of ADD and HD, each of one or more pieces; the code pads them with id 0 to the longest."""
    misprints: tuple[Misprint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Specification:
    """One bias type: B = (T1, T2, A1, A2), and what the pipeline needs besides.

    Source: Barikeri et al. 2021, section 2.1 and appendix A.

    >>> race = specification("race")
    >>> race.groups, race.target_pairs[0], len(race.queries)
    (('black', 'white'), ('black', 'white'), 954)
    """

    bias: str
    groups: Pair
    """The minoritised group of T1 and the dominant one of T2."""
    targets_1: tuple[str, ...]
    """T1 as it is searched for: text in double quotes is one phrase, and * matches any letters."""
    targets_2: tuple[str, ...]
    """T2, one for each of T1; "" where there is none."""
    attributes_1: tuple[str, ...]
    """A1, stereotypes of the minoritised group, written like T1."""
    attributes_2: tuple[str, ...]
    """A2, one for each of A1; "" where there is none."""
    window_targets: tuple[str, ...]
    """Words around which a phrase is cut out."""
    target_pairs: tuple[Pair, ...]
    """(T1, T2) in the order in which they are replaced; spaces count."""
    two_way: bool = False
    """Whether T2 becomes T1 as well."""
    exceptions: tuple[OneWay, ...] = ()
    """Pairs that are replaced one way only in some texts, although the type is two-way."""
    axis: str = ""
    """An axis of `prompts.counterfactual` that knows the groups by their names: its words are replaced by the corrected
    rules, instead of the pairs."""
    attribute_pairs: tuple[Pair, ...] = ()
    """(A1, A2) in the order in which they are replaced."""
    single_targets: tuple[str, ...] = ()
    """A comment is kept if exactly one of these occurs in it; empty: no such filter."""
    keep_without_attribute: bool = True
    """Whether phrases without an attribute stay in the table of phrases."""
    train_share: float = 0.6
    """Share of the biased phrases that are training phrases."""
    stratified: bool = True
    """Whether the published split into training and held-out phrases was drawn with strata."""
    line_prefix: str = ""
    """What stands before each line of the published training text."""
    swapped_attributes_prefix: str = ""
    """The same of the published training text with swapped attributes."""
    capitalised: tuple[str, ...] = ()
    """Words with a capital in the published training text."""
    pieces: Pieces = Pieces()

    def stored_form(self) -> dict[str, Any]:
        """Return the fields from which stored digests are computed.

        Later fields are left out at their default, so that folders made before these fields existed can be resumed.
        """
        added_later = {"stratified": True}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in added_later or value != added_later[name]
        }

    @property
    def queries(self) -> tuple[Pair, ...]:
        """T1 x A1 as they were searched for, T1 outside."""
        return tuple((target, attribute) for target in self.targets_1 for attribute in self.attributes_1)

    @property
    def window_attributes(self) -> tuple[str, ...]:
        """A1 as phrases are looked through for them: in small letters, without quotes and asterisks."""
        return tuple(re.sub('[*"]', "", attribute).lower() for attribute in self.attributes_1)


def specification(bias: str) -> Specification:
    """One of the five published bias types.

    bias: a name in BIAS_TYPES. Raises UsageError for any other.

    >>> specification("religion1").target_pairs
    (('jew ', 'christian '), ('jewish', 'christian'), ('jews ', 'christians '), ('judaism', 'christianity'))
    """
    if bias not in BIAS_TYPES:
        raise unknown_name("bias type", bias, BIAS_TYPES)
    return load_specification(FOLDER / f"{bias}.toml")


def load_specification(path: Path | str) -> Specification:
    """A specification from a TOML file in the form of the built-in ones.

    Needed are bias, minoritised, dominant, retrieval.targets and .attributes, filtering.window_targets and
    counterparts.target_pairs. Raises DataError, naming file and key, for a file that cannot be read, a key that is
    missing or unknown, and a value of another kind than expected.

    >>> load_specification(FOLDER / "gender.toml").groups
    ('female', 'male')
    """
    file = Path(path).expanduser()
    if not is_file(file):
        raise DataError(f"File not found: {file}.", FORMAT)
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.", FORMAT) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{file} is not TOML in UTF-8: {error}.", "Correct the file at that position."
        ) from error
    root = Table(content, str(file), FORMAT)
    retrieval, filtering = root.table("retrieval"), root.table("filtering")
    counterparts, splits = root.table("counterparts"), root.table("splits", needed=False)
    targets, attributes = retrieval.pairs("targets"), retrieval.pairs("attributes")
    target_pairs = counterparts.pairs("target_pairs", second_needed=True)
    found = Specification(
        bias=root.name("bias"),
        groups=(root.name("minoritised"), root.name("dominant")),
        targets_1=tuple(first for first, _ in targets),
        targets_2=tuple(second for _, second in targets),
        attributes_1=tuple(first for first, _ in attributes),
        attributes_2=tuple(second for _, second in attributes),
        window_targets=filtering.texts("window_targets"),
        single_targets=filtering.texts("single_targets", needed=False),
        keep_without_attribute=filtering.flag("keep_without_attribute", True),
        target_pairs=target_pairs,
        two_way=counterparts.flag("two_way", False),
        exceptions=_exceptions(counterparts, target_pairs),
        axis=_axis(counterparts),
        attribute_pairs=counterparts.pairs("attribute_pairs", needed=False, second_needed=True),
        train_share=splits.share("train_share", 0.6),
        stratified=splits.flag("stratified", True),
        line_prefix=splits.text("line_prefix", ""),
        swapped_attributes_prefix=splits.text("swapped_attributes_prefix", ""),
        capitalised=splits.texts("capitalised", needed=False),
        pieces=_pieces(root.table("pieces", needed=False)),
    )
    for table in (root, retrieval, filtering, counterparts, splits):
        table.refuse_unknown()
    return found


def _axis(counterparts: Table) -> str:
    axis = counterparts.text("axis", "")
    if axis and axis not in axes():
        raise counterparts.wrong("axis", f"{axis!r} is none", f"one of {', '.join(axes())}")
    return axis


def _exceptions(counterparts: Table, target_pairs: tuple[Pair, ...]) -> tuple[OneWay, ...]:
    found = []
    for entry in counterparts.tables("one_way"):
        (pair,) = entry.pairs("pair", alone=True)
        if pair not in target_pairs:
            raise entry.wrong("pair", f"{list(pair)} is not one of target_pairs", "one of target_pairs")
        found.append(OneWay(pair, entry.texts("where")))
        entry.refuse_unknown()
    return tuple(found)


def _pieces(table: Table) -> Pieces:
    def pairs(key: str) -> tuple[tuple[Piece, Piece], ...]:
        terms = table.terms(key, length=2)
        return tuple((Piece(*first), Piece(*second)) for first, second in terms)

    misprints = []
    for entry in table.tables("misprints"):
        misprints.append(Misprint(entry.whole("published"), entry.whole("meant"), entry.text("piece")))
        entry.refuse_unknown()
    attributes = tuple(tuple(Piece(*piece) for piece in term) for term in table.terms("attributes"))
    found = Pieces(pairs("lmd_targets"), pairs("projection_targets"), attributes, tuple(misprints))
    table.refuse_unknown()
    return found
