"""Find the possible roles of columns whose names do not show their role, for errors that ask the user to state them."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from evenhand.prompts.own_files import MISSING_WORDS, NUMBERS

MOST_GROUPS = 20
"""Largest number of different values of a column that is suggested as a column of groups."""
_TEXT = 60
_LISTED = 20
_VALUES = 3
_MISSING_WORDS = 3
"""Largest number of different words that may be missing values in a column of numbers."""
_WHOLE = ("true", "false", "yes", "no", "0", "1")
_DIGITS = ("0", "1")


def may_hold(values: pl.Series) -> tuple[str, ...]:
    """Return the possible roles of a column from its values, the most likely first.

    Parameters
    ----------
    values
        A column as it was read. Columns of text files contain texts, also for numbers.

    Examples
    --------
    >>> may_hold(pl.Series(["Ost", "West", "Ost", "West"])), may_hold(pl.Series(["4.5", "3", "7,25", "1"]))
    (('group', 'label', 'question'), ('score',))
    """
    if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
        return ()
    words = values.cast(pl.String).str.strip_chars()
    words = words.filter(~words.str.to_lowercase().is_in(MISSING_WORDS).fill_null(True))
    different = words.n_unique()
    if not different:
        return ()
    if words.str.to_lowercase().is_in(_WHOLE).all():
        is_digits = words.is_in(_DIGITS).all()
        return ("negative",) if is_digits or different == 1 else ("negative", "group")
    repeated = different <= len(words) / 2
    if words.str.contains(NUMBERS).all():
        return ("score", "unit") if repeated else ("score",)
    if words_among_numbers(values):
        return ("score",)
    if different == 1:
        return ()
    length = float(words.str.len_chars().mean() or 0)  # type: ignore[arg-type]
    if repeated and different <= MOST_GROUPS:
        return ("question",) if length > _TEXT else ("group", "label", "question")
    if not repeated and length > _TEXT / 2:
        return ("continuation",)
    return ("unit", "question") if repeated else ("unit", "continuation")


def words_among_numbers(values: pl.Series) -> list[str]:
    """Return the words in a column of numbers that may mean a missing value, if they are few.

    The result is empty for other columns.

    >>> words_among_numbers(pl.Series(["$86,327", "k.A.", "$75,379", "$63,078"]))
    ['k.A.']
    >>> words_among_numbers(pl.Series(["36k", "40", "50"]))
    []
    """
    if values.dtype != pl.String:
        return []
    words = values.str.strip_chars()
    words = words.filter(~words.str.to_lowercase().is_in(MISSING_WORDS).fill_null(True))
    is_number = words.str.contains(NUMBERS)
    others = words.filter(~is_number)
    different = others.unique(maintain_order=True).to_list()
    few = 0 < len(different) <= _MISSING_WORDS and is_number.sum() > len(words) / 2
    return different if few and not others.str.contains(r"\d").any() else []


def may_be_group(frame: pl.DataFrame, taken: Collection[str]) -> list[str]:
    """Return the columns without a role whose values could be groups: columns of text with few different values.

    Columns of yes and no are included. taken: columns that already have a role.

    >>> may_be_group(pl.DataFrame({"born": ["here", "abroad"] * 2, "parent": ["yes", "no"] * 2, "pay": ["3"] * 4}), [])
    ['born', 'parent']
    """
    return [name for name in frame.columns if name not in taken and "group" in may_hold(frame[name])]


def flag(column: str, ours: str) -> str:
    """Return the `--column` flag that states the role of a column, quoted for a shell if necessary."""
    pair = f"{column}={ours}"
    return f"--column {pair if all(c.isalnum() or c in '_=-.' for c in pair) else repr(pair)}"


def what_each_may_be(frame: pl.DataFrame, taken: Mapping[str, str], guessed: Collection[str] = ()) -> str:
    """Return a text with one line per column: a few of its values, and its role or possible roles.

    Parameters
    ----------
    taken
        Roles of columns, stated or guessed.
    guessed
        Columns whose role was guessed from their names.

    Examples
    --------
    >>> print(what_each_may_be(pl.DataFrame({"who": ["a", "b"] * 2, "pay": ["3", "4", "5", "6"]}), {}))
      who (a, b): group, label or question
      pay (3, 4, 5, ...): score
    """
    lines = []
    for name in frame.columns[:_LISTED]:
        kinds = may_hold(frame[name])
        could = _join_roles(kinds) + _declared_missing(frame[name], kinds)
        if name in taken:
            others = [kind for kind in kinds if kind != taken[name]] if name in guessed else []
            could = f"{taken[name]}, by its name{f', or {_join_roles(others)}' if others else ''}"
            could = could if name in guessed else taken[name]
        values: list[str] = []
        if kinds:
            values = frame[name].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list()
        shown = ", ".join(value[:_TEXT].splitlines()[0] if value else '""' for value in values[:_VALUES])
        more = ", ..." if len(values) > _VALUES else ""
        lines.append(f"  {name}{f' ({shown}{more})' if shown else ''}: {could}")
    if frame.width > _LISTED:
        lines.append(f"  and {frame.width - _LISTED} more")
    return "\n".join(lines)


def _declared_missing(values: pl.Series, kinds: Sequence[str]) -> str:
    words = words_among_numbers(values) if "score" in kinds else []
    return f", with {' '.join(f'--missing {word!r}' for word in words)}" if words else ""


def _join_roles(kinds: Sequence[str]) -> str:
    return " or ".join(part for part in (", ".join(kinds[:-1]), kinds[-1]) if part) if kinds else "nothing"


def examples(frame: pl.DataFrame, taken: Mapping[str, str], wanted: Sequence[str]) -> str:
    """Return `--column` flags as an example: one for each missing role, with the first column that may have it.

    taken: columns that already have a role. wanted: the missing roles.
    """
    used: set[str] = set(taken)
    flags: list[str] = []
    for ours in wanted:
        free = [name for name in frame.columns if name not in used]
        if ours == "label":  # outcomes usually come after the columns that describe people
            free.reverse()
        best = next((name for name in free if may_hold(frame[name])[:1] == (ours,)), None)
        if best is None and not (
            ours == "continuation" and flags
        ):  # short texts that never repeat may be names
            best = next((name for name in free if ours in may_hold(frame[name])), None)
        if best is not None:
            used.add(best)
            more = {"label": " --negative VALUE", "continuation": " --classifier vader"}.get(ours, "")
            more = _declared_missing(frame[best], [ours]).removeprefix(", with") or more
            flags.append(f"{flag(best, ours)}{more}")
    return " or ".join(flags)
