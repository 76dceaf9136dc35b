"""Exclusion rules: those of the study, the stricter ones of ACUTE-Eval, none, or those of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from pydantic import TypeAdapter, ValidationError

from evenhand.annotation.analysis.options import NONE, PUBLISHED, STUDY
from evenhand.annotation.definition import OnboardingBelow, Rule
from evenhand.annotation.quality import apply_rules
from evenhand.schema import DataError, is_file, parse_yaml

RULES: TypeAdapter[tuple[Rule, ...]] = TypeAdapter(tuple[Rule, ...])
LARGEST_FILE = 1_000_000
MOST_PROBLEMS = 5


@dataclass(frozen=True)
class RuleSet:
    """A set of exclusion rules."""

    name: str
    """Name in reports: "the study's", "published", "none", or the name of a file."""
    rules: tuple[Rule, ...] | None
    """The rules. None: the export has none, and its own exclusions remain."""

    def apply(self, votes: pl.DataFrame) -> pl.DataFrame:
        """Return VOTES with `excluded` according to these rules; rejected judgements are excluded under any rules."""
        return votes if self.rules is None else apply_rules(votes, self.rules)


def rule_set(asked: str, study: Mapping[str, Any]) -> RuleSet:
    """Return the exclusion rules that an option names.

    asked: "study", "published", "none" or a YAML file. study: the description of the study in the export. Raises
    DataError if the file does not exist or contains something other than rules, or if the export's rules are
    unreadable.
    """
    if asked == STUDY:
        stored = study.get("rules")
        return RuleSet("the study's", None if stored is None else _read(stored, "the export's study"))
    if asked == PUBLISHED:
        return RuleSet("published", (OnboardingBelow(mark=1.0, attempts="any", action="exclude"),))
    if asked == NONE:
        return RuleSet("none", ())
    path = Path(asked)
    if not is_file(path):
        raise DataError(
            f"File of rules not found: {path}.",
            "`--rules` expects study, published, none, or a YAML file with rules (a study file works, too).",
        )
    return RuleSet(path.name, _read(_content(path), str(path)))


def list_rules(rules: Sequence[Rule]) -> list[tuple[str, str, str]]:
    """Return each rule with its action and its numbers, for reports."""
    return [
        (
            rule.rule.replace("_", " "),
            rule.action,
            ", ".join(
                f"{name} {value if isinstance(value, str) else format(value, 'g')}"
                for name, value in rule.model_dump(exclude={"rule", "action"}).items()
            ),
        )
        for rule in rules
    ]


def _content(path: Path) -> Any:
    try:
        data = path.read_bytes()
        if len(data) > LARGEST_FILE:
            raise DataError(
                f"{path} has {len(data):,} bytes, but a file of rules may have at most {LARGEST_FILE:,}.",
                "Give a YAML file that contains only the rules: --rules FILE",
            )
        content = parse_yaml(data)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise DataError(
            f"The rules in {path} cannot be read: {' '.join(str(error).split())[:300]}",
            "Expected YAML: a list of rules, or a study file.",
        ) from error
    return content["rules"] if isinstance(content, dict) and "rules" in content else content


def _read(content: Any, place: str) -> tuple[Rule, ...]:
    try:
        return RULES.validate_python(content)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'rules'}: {one['msg']}"
            for one in error.errors()[:MOST_PROBLEMS]
        )
        raise DataError(
            f"Invalid rules in {place}: {wrong}.",
            "Example of a rule: {rule: gold_below, mark: 0.75, action: exclude}",
        ) from error
