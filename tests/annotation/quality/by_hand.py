"""The rules of exclusion once more, person by person and row by row, as their descriptions say it."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from math import ceil, comb
from statistics import median
from typing import Any

Row = dict[str, Any]


def by_person(rows: list[Row]) -> dict[str, list[Row]]:
    persons = defaultdict(list)
    for row in rows:
        persons[row["person"]].append(row)
    return persons


def showings(rows: list[Row], role: str) -> list[list[Row]]:
    """Rows of that role by presentation, in the order shown."""
    groups = defaultdict(list)
    for row in rows:
        if row["role"] == role:
            groups[row["presentation"]].append(row)
    return sorted(groups.values(), key=lambda group: min(row["shown_at"] for row in group))


def right_items(groups: list[list[Row]]) -> list[bool]:
    known = [[row for row in group if row["expected"] is not None] for group in groups]
    return [all(row["answer"] == row["expected"] for row in group) for group in known if group]


def onboarding_below(rows: list[Row], rule: Any) -> bool:
    last = {group[0]["item"]: group for group in showings(rows, "onboarding")}
    right = right_items(list(last.values()))
    return bool(right) and sum(right) / len(right) < rule.mark


def gold_below(rows: list[Row], rule: Any) -> bool:
    right = right_items(showings(rows, "gold"))
    return len(right) >= rule.least and sum(right) / len(right) < rule.mark


def said(group: list[Row], question: str) -> Any:
    rows = [row for row in group if row["question"] == question and row["measurement"] != "text"]
    if any(row["measurement"] == "marks" for row in rows):
        return {(row["turn"], row["answer"]) for row in rows if row["answer"] is not None}
    return rows[0]["answer"] if rows else None


def same(one: Any, other: Any) -> bool:
    try:
        return abs(float(one) - float(other)) <= 1
    except (TypeError, ValueError):
        return bool(one == other)


def inconsistent_duplicates(rows: list[Row], rule: Any) -> bool:
    agreeing = answers = repetitions = 0
    for group in showings(rows, "duplicate"):
        earlier = [
            before
            for role in ("real", "gold", "onboarding")
            for before in showings(rows, role)
            if before[0]["item"] == group[0]["item"]
        ]
        counted = 0
        if earlier:
            first = min(earlier, key=lambda before: min(row["shown_at"] for row in before))
            for question in {row["question"] for row in [*group, *first]}:
                pair = said(group, question), said(first, question)
                if pair != (None, None):
                    counted += 1
                    agreeing += same(*pair)
        answers += counted
        repetitions += counted > 0
    return repetitions >= rule.least and agreeing / answers < rule.mark


def too_fast(rows: list[Row], rule: Any) -> bool:
    times = [group[0]["seconds"] for group in showings(rows, "real") if group[0]["seconds"] is not None]
    fast = sum(seconds < rule.seconds for seconds in times)
    assert not times or median(times) >= min(times)
    return len(times) >= rule.least and fast / len(times) > rule.share


def chance_of_one_side(n: int, a_left: int, answers_a: int) -> float:
    """All ways in which the sides could have fallen, looked through."""
    answers = ["a"] * answers_a + ["b"] * (n - answers_a)
    hits = total = 0
    for chosen in combinations(range(n), a_left):
        lefts = ["a" if i in chosen else "b" for i in range(n)]
        sides = {answer == left for answer, left in zip(answers, lefts, strict=True)}
        hits += len(sides) == 1
        total += 1
    return hits / total


def constant_side(rows: list[Row], rule: Any, everybody: list[Row]) -> bool:
    def counted(row: Row) -> bool:
        return (
            row["role"] in ("real", "gold")
            and row["answer"] is not None
            and row["measurement"] not in ("text", "marks")
        )

    mine = [row for row in rows if counted(row)]
    others = [row for row in everybody if counted(row) and row["person"] != rows[0]["person"]]
    questions = sorted({row["question"] for row in mine})
    chances = []
    for question in questions:
        own = [row for row in mine if row["question"] == question]
        theirs = [row["answer"] for row in others if row["question"] == question]
        known = {row["answer"] for row in own} | set(theirs)
        if own[0]["measurement"] == "preference":
            pairs = [row for row in own if row["answer"] != "tie"]
            sides = {row["answer"] == row["shown_left"] for row in pairs}
            if len(pairs) >= rule.least and len(sides) == 1:
                n, m = len(pairs), sum(row["shown_left"] == "a" for row in pairs)
                chances.append((1 + (2 * m == n)) / comb(n, m))
        option = own[0]["answer"]
        rated = own[0]["measurement"] != "preference" or option == "tie"
        if rated and len(own) >= rule.least and all(row["answer"] == option for row in own):
            share = (theirs.count(option) + 1) / (len(theirs) + len(known))
            chances.append(share ** len(own))
    return any(p * len(questions) < rule.p for p in chances)


def plain(text: str | None) -> str | None:
    if text is None:
        return None
    letters = [
        letter if unicodedata.category(letter)[0] in "LNM" else " "
        for letter in unicodedata.normalize("NFKC", text).lower()
    ]
    return re.sub(" +", " ", "".join(letters)).strip()


def longest_common(one: str, other: str) -> int:
    best = 0
    row = [0] * (len(other) + 1)
    for letter in one:
        row = [0, *(row[j] + 1 if letter == found else 0 for j, found in enumerate(other))]
        best = max(best, *row)
    return best


def copied_reasons(rows: list[Row], rule: Any) -> bool:
    given = [row for row in rows if row["role"] != "onboarding" and (row["reason"] or "").strip()]
    beside = defaultdict(set)
    for row in given:
        beside[plain(row["reason"])].add(row["item"])
    copied = 0
    for row in given:
        reason = plain(row["reason"]) or ""
        piece = max(20, ceil(0.6 * len(reason)))
        taken = any(longest_common(reason, plain(row[where]) or "") >= piece for where in ("text", "context"))
        copied += len(beside[reason]) > 1 or taken
    return len(given) >= rule.least and copied / len(given) > rule.share


RULES: dict[str, Callable[..., bool]] = {
    "onboarding_below": onboarding_below,
    "gold_below": gold_below,
    "inconsistent_duplicates": inconsistent_duplicates,
    "too_fast": too_fast,
    "constant_side": constant_side,
    "copied_reasons": copied_reasons,
}


def broken(rows: list[Row], rule: Any) -> set[str]:
    """Persons who break the rule."""
    more = [rows] if rule.rule == "constant_side" else []
    return {person for person, own in by_person(rows).items() if RULES[rule.rule](own, rule, *more)}
