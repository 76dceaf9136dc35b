"""Bias specifications of RedditBias: groups, search terms, replacement rules, and constants of the published code.

The five published types are in specifications/*.toml. A custom file has the same format.
"""

import re
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.prompts.counterfactual import axes
from evenhand.prompts.redditbias.toml_tables import TomlTable
from evenhand.schema import DataError, is_file, missing_file, parse_toml, unknown_name

BIAS_TYPES = ("religion1", "religion2", "race", "gender", "orientation")
"""The published bias types, in the paper's order."""
FOLDER = Path(__file__).with_name("specifications")
FORMAT = (
    "Expected the form of prompts/redditbias/specifications/*.toml: bias, minoritised, dominant, [retrieval] with "
    "targets and attributes, [filtering] with window_targets, [counterparts] with target_pairs; see "
    "docs/how-to/build_redditbias_pairs.md."
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class OneWay:
    """A pair that is replaced in one direction only (T1 by T2) in texts that contain certain strings."""

    pair: Pair
    """One of the target pairs."""
    where: tuple[str, ...]
    """A text with any of these strings is replaced in one direction only. The strings also match inside words."""


@dataclass(frozen=True)
class Piece:
    """A token of GPT-2's vocabulary. The published code refers to it by its id."""

    text: str
    """Text of the token, including a leading space; "" if the id is beyond the vocabulary."""
    id: int


@dataclass(frozen=True)
class Misprint:
    """A wrong token id in the published code, where the comma between the id and the following 0 is missing."""

    published: int
    meant: int
    piece: str
    """Text of the intended token."""


@dataclass(frozen=True)
class Pieces:
    """Tokens that the published debiasing losses use. Empty for a type that was not published."""

    lmd_targets: tuple[tuple[Piece, Piece], ...] = ()
    """Pairs (T1, T2) of the equalising loss (LMD)."""
    projection_targets: tuple[tuple[Piece, Piece], ...] = ()
    """Pairs (T1, T2) of attribute distance (ADD) and hard debiasing (HD)."""
    attributes: tuple[tuple[Piece, ...], ...] = ()
    """Attributes of ADD and HD, each of one or more tokens. The code pads them with id 0."""
    misprints: tuple[Misprint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Specification:
    """One RedditBias type: its target terms (T1, T2), attributes (A1, A2) and the options of the pipeline.

    Source: Barikeri et al. 2021, section 2.1 and appendix A.

    >>> race = specification("race")
    >>> race.groups, race.target_pairs[0], len(race.queries)
    (('black', 'white'), ('black', 'white'), 954)
    """

    bias: str
    groups: Pair
    """Names of the minoritised group (T1) and the dominant group (T2)."""
    targets_1: tuple[str, ...]
    """Search terms of the minoritised group (T1). Text in double quotes is one phrase, and * matches any letters."""
    targets_2: tuple[str, ...]
    """Terms of the dominant group (T2), one per term of T1; "" if there is none."""
    attributes_1: tuple[str, ...]
    """Stereotypes of the minoritised group (A1), in the format of T1."""
    attributes_2: tuple[str, ...]
    """Counterparts of the stereotypes (A2), one per attribute of A1; "" if there is none."""
    window_targets: tuple[str, ...]
    """Words around which a phrase is extracted."""
    target_pairs: tuple[Pair, ...]
    """Pairs (T1, T2) in the order of replacement; spaces matter."""
    two_way: bool = False
    """True if T2 is also replaced by T1."""
    exceptions: tuple[OneWay, ...] = ()
    """Pairs of a two-way type that are replaced in one direction only in some texts."""
    axis: str = ""
    """Axis of `Counterfactuals` with groups of the same names. If set, its rules replace the target pairs."""
    attribute_pairs: tuple[Pair, ...] = ()
    """Pairs (A1, A2) in the order of replacement."""
    single_targets: tuple[str, ...] = ()
    """Only comments that contain exactly one of these words are kept. Empty: all comments are kept."""
    keep_without_attribute: bool = True
    """True if the table of phrases also contains phrases without an attribute."""
    train_share: float = 0.6
    """Share of the biased phrases that are used for training."""
    stratified: bool = True
    """True if the published split into training and held-out phrases was stratified."""
    line_prefix: str = ""
    """Text before each line of the published training text."""
    swapped_attributes_prefix: str = ""
    """Text before each line of the published training text with swapped attributes."""
    capitalised: tuple[str, ...] = ()
    """Words that are written with a capital letter in the published training text."""
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
        """Return the search queries: all combinations of T1 and A1, grouped by T1."""
        return tuple((target, attribute) for target in self.targets_1 for attribute in self.attributes_1)

    @property
    def window_attributes(self) -> tuple[str, ...]:
        """Return A1 as it is searched in phrases: lower case, without quotes and asterisks."""
        return tuple(re.sub('[*"]', "", attribute).lower() for attribute in self.attributes_1)


def specification(bias: str) -> Specification:
    """Return the specification of one of the five published bias types (a name in BIAS_TYPES).

    Raises a UsageError for other names.

    >>> specification("religion1").target_pairs
    (('jew ', 'christian '), ('jewish', 'christian'), ('jews ', 'christians '), ('judaism', 'christianity'))
    """
    if bias not in BIAS_TYPES:
        raise unknown_name("bias type", bias, BIAS_TYPES)
    return load_specification(FOLDER / f"{bias}.toml")


def load_specification(path: Path | str) -> Specification:
    """Read a specification from a TOML file in the format of the built-in ones.

    Required keys are bias, minoritised, dominant, retrieval.targets and .attributes, filtering.window_targets and
    counterparts.target_pairs. Raises a DataError with file and key for an unreadable file, a missing or unknown key, or
    an invalid value.

    >>> load_specification(FOLDER / "gender.toml").groups
    ('female', 'male')
    """
    file = Path(path).expanduser()
    if not is_file(file):
        raise missing_file(file, FORMAT)
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.", FORMAT) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{file} is not TOML in UTF-8: {error}.", "Correct the file at that position."
        ) from error
    root = TomlTable(content, str(file), FORMAT)
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


def _axis(counterparts: TomlTable) -> str:
    axis = counterparts.text("axis", "")
    if axis and axis not in axes():
        raise counterparts.wrong("axis", f"{axis!r} is not an axis", f"one of {', '.join(axes())}")
    return axis


def _exceptions(counterparts: TomlTable, target_pairs: tuple[Pair, ...]) -> tuple[OneWay, ...]:
    found = []
    for entry in counterparts.tables("one_way"):
        (pair,) = entry.pairs("pair", alone=True)
        if pair not in target_pairs:
            raise entry.wrong("pair", f"{list(pair)} is not one of target_pairs", "one of target_pairs")
        found.append(OneWay(pair, entry.texts("where")))
        entry.refuse_unknown()
    return tuple(found)


def _pieces(table: TomlTable) -> Pieces:
    def pairs(key: str) -> tuple[tuple[Piece, Piece], ...]:
        terms = table.terms(key, length=2)
        return tuple((Piece(*first), Piece(*second)) for first, second in terms)

    misprints = []
    for entry in table.tables("misprints"):
        misprints.append(
            Misprint(entry.whole_number("published"), entry.whole_number("meant"), entry.text("piece"))
        )
        entry.refuse_unknown()
    attributes = tuple(tuple(Piece(*piece) for piece in term) for term in table.terms("attributes"))
    found = Pieces(pairs("lmd_targets"), pairs("projection_targets"), attributes, tuple(misprints))
    table.refuse_unknown()
    return found
