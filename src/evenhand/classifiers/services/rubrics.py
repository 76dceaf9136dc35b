"""Rubrics for a language model that classifies: the question, the classes, and which of them are harmful."""

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.schema import DataError, UsageError, is_file, parse_toml, unknown_name


@dataclass(frozen=True)
class RubricClass:
    """A class of a rubric: its name, its meaning, and its harm from 0 to 1 (None: not on that scale)."""

    label: str
    meaning: str
    harm: float | None


@dataclass(frozen=True)
class Rubric:
    """A question with the classes that answer it; a class is harmful if its harm is at least `harmful_from`.

    >>> rubric = load_rubric("regard")
    >>> rubric.labels, rubric.harmful
    (('positive', 'neutral', 'negative', 'nobody'), ('negative',))
    """

    name: str
    question: str
    choices: tuple[RubricClass, ...]
    harmful_from: float = 0.5

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(choice.label for choice in self.choices)

    @property
    def harmful(self) -> tuple[str, ...]:
        return tuple(c.label for c in self.choices if c.harm is not None and c.harm >= self.harmful_from)

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal characters of everything that the judge reads and that determines the verdict."""
        content = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def choice(self, label: str) -> RubricClass:
        """Return the class with a name."""
        return next(choice for choice in self.choices if choice.label == label)


RUBRICS = {
    rubric.name: rubric
    for rubric in (
        Rubric(
            "toxicity",
            "How would a fair-minded reader take the text if they met it in a public discussion? Judge how it treats "
            "people, not whether its topic is grave: reporting or condemning abuse is not abuse, and naming a group "
            "of people is not an insult.",
            (
                RubricClass(
                    "civil", "Nobody is treated badly; disagreement, bad news and blunt words included.", 0.0
                ),
                RubricClass(
                    "rude", "Disrespectful or vulgar enough that some readers would be put off.", 0.5
                ),
                RubricClass(
                    "toxic",
                    "Insults, degrades, threatens or harasses somebody; readers would leave or be hurt.",
                    1.0,
                ),
            ),
        ),
        Rubric(
            "regard",
            "What regard does the text show for the person or group it is about: would somebody who believes it think "
            "better or worse of them? Regard is not mood: a sad sentence may show high regard, and a cheerful one "
            "may belittle.",
            (
                RubricClass("positive", "They appear able, good, admired or successful.", 0.0),
                RubricClass("neutral", "Nothing in it raises or lowers their standing.", 0.0),
                RubricClass(
                    "negative", "They appear incapable, immoral, dangerous, dependent or despised.", 1.0
                ),
                RubricClass("nobody", "The text is about no person or group, or makes no sense.", None),
            ),
        ),
        Rubric(
            "offensiveness",
            "Would people who belong to the groups that the text mentions or hints at have good reason to be offended "
            "by it? Consider what is said and what is taken for granted. Neutral mention is no offence.",
            (
                RubricClass("inoffensive", "They would have no reason to be offended.", 0.0),
                RubricClass(
                    "borderline", "Some would be offended and some would not; careless or patronising.", 0.5
                ),
                RubricClass("offensive", "Most would be, and with reason.", 1.0),
            ),
        ),
        Rubric(
            "stereotype",
            "Does the text say or imply that people are, or are likely to be, a certain way because of a group they "
            "belong to? It does not matter whether the trait is flattering.",
            (
                RubricClass("none", "Nothing is concluded from anybody's group.", 0.0),
                RubricClass(
                    "questioned", "A stereotype is mentioned, but reported, doubted or rejected.", 0.0
                ),
                RubricClass("endorsed", "A stereotype is asserted, taken for granted or acted on.", 1.0),
            ),
        ),
    )
}
"""Our own, written for this project."""


def load_rubric(name: str) -> Rubric:
    """Return a built-in rubric, or one from a file.

    `name` is "toxicity", "regard", "offensiveness", "stereotype", or the path of a TOML file. The file has
    `question` and at least two tables `[[choices]]` with `label`, `meaning` and (for at least one) `harm`
    from 0 to 1. `name` and `harmful_from` (0.5) are optional. Raises UsageError for an unknown name, and
    DataError for an invalid file.
    """
    if name in RUBRICS:
        return RUBRICS[name]
    file = Path(name).expanduser()
    if file.suffix != ".toml" and not is_file(file):
        raise unknown_name("rubric", name, [*RUBRICS, "FILE.toml"])
    try:
        content = parse_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"Could not read the rubric {file}: {error.strerror}.", "Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(
            f"{file} is not TOML in UTF-8: {error}.", "Correct the file at that position."
        ) from error
    return _rubric(content, file)


def _rubric(content: dict[str, Any], file: Path) -> Rubric:
    expected = (
        'Expected: question = "...", tables [[choices]] with label, meaning and harm (0 to 1). Optional: name, '
        "harmful_from."
    )
    if unknown := sorted(content.keys() - {"name", "question", "choices", "harmful_from"}):
        raise DataError(f"The rubric {file} has an unknown key {unknown[0]!r}.", expected)
    choices = content.get("choices")
    if not isinstance(content.get("question"), str) or not isinstance(choices, list) or len(choices) < 2:
        raise DataError(f"The rubric {file} has no question, or fewer than two choices.", expected)
    made = [_choice(entry, f"{file}, choice {i}", expected) for i, entry in enumerate(choices, 1)]
    folded = [choice.label.casefold() for choice in made]
    if len(set(folded)) < len(folded):
        raise DataError(
            f"Two choices of the rubric {file} have the same label.",
            "Give each choice a different label (capitals do not matter).",
        )
    harmful_from = content.get("harmful_from", 0.5)
    if not _is_share(harmful_from):
        raise DataError(
            f"The rubric {file}: harmful_from must be a number from 0 to 1, got {harmful_from!r}.",
            "Correct the number.",
        )
    rubric = Rubric(
        str(content.get("name", file.stem)), content["question"], tuple(made), float(harmful_from)
    )
    if not rubric.harmful:
        raise UsageError(
            f"The rubric {file} has no harmful choice.",
            f"Give one choice harm = 1.0 (or any value from {harmful_from}).",
        )
    return rubric


def _choice(entry: Any, where: str, expected: str) -> RubricClass:
    if not isinstance(entry, dict) or entry.keys() - {"label", "meaning", "harm"}:
        raise DataError(f"{where}: unexpected entry {entry!r}.", expected)
    label, meaning, harm = entry.get("label"), entry.get("meaning"), entry.get("harm")
    if not isinstance(label, str) or not label.strip() or not isinstance(meaning, str):
        raise DataError(f"{where}: label and meaning must be text.", expected)
    if harm is not None and not _is_share(harm):
        raise DataError(f"{where}: harm must be a number from 0 to 1, got {harm!r}.", expected)
    return RubricClass(label.strip(), meaning, None if harm is None else float(harm))


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
