"""Instructions that a search found, as files: the text, where it comes from, and what it changed."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.mitigations.prompting import Prefix
from evenhand.schema import Card, DataError
from evenhand.schema.files import write_json

KIND = "evenhand instruction"
NAME = "found-instruction"


@dataclass(frozen=True)
class FoundInstruction:
    """An instruction with its card.

    text, delimiter: see `Prefix`. card: model, benchmark and the effect measured on prompts the search had not seen.
    facts: the same as numbers, JSON-serialisable.
    """

    text: str
    card: Card
    delimiter: str = "\n"
    facts: dict[str, Any] = field(default_factory=dict)

    def mitigation(self) -> Prefix:
        """The instruction as a mitigation; where its file lies does not enter the model's fingerprint."""
        return Prefix(self.text, delimiter=self.delimiter, name=NAME, card=self.card)

    def write(self, path: Path) -> Path:
        """Write the file, whole or not at all; raises WriteError."""
        told = {
            "kind": KIND,
            "text": self.text,
            "delimiter": self.delimiter,
            "card": self.card.to_dict(),
            "facts": self.facts,
        }
        return write_json(path, told)


def read_found_instruction(path: Path) -> FoundInstruction:
    """An instruction from its file.

    path: JSON as `evenhand revise` writes it, or plain text: the instruction and nothing else. Raises DataError for a
    file that is absent or unreadable, or JSON that holds no instruction.
    """
    path = Path(path).expanduser()
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DataError(
            f"The instruction file {path} cannot be read: {told}.", "Give the path of instruction.json."
        ) from error
    if not content.lstrip().startswith("{"):
        return _plain(path, content)
    try:
        told = json.loads(content)
        if told["kind"] != KIND:
            raise ValueError(f"kind is {told['kind']!r}")
        texts = [told["text"], told["delimiter"]]
        if not all(isinstance(text, str) for text in texts) or not texts[0].strip():
            raise ValueError("text and delimiter must be text, and text not empty")
        return FoundInstruction(texts[0], Card(**told["card"]), texts[1], dict(told.get("facts", {})))
    except (KeyError, TypeError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(
            f"{path} holds no instruction: {what}.",
            "Give a file that `evenhand revise` wrote, or a text file with the instruction alone.",
        ) from error


class InstructionFile:
    """`--mitigate instruction-file=PATH`: the instruction of a file in front of every prompt.

    >>> InstructionFile()("no-such-file.json")
    Traceback (most recent call last):
    evenhand.schema.errors.DataError: The instruction file no-such-file.json cannot be read: No such file...
    """

    CARD = Card(
        "instruction-file",
        "An instruction from a file in front of every prompt, such as one that `evenhand revise` found.",
        construct="Whether telling a model how to speak changes how it speaks of people.",
        null="A model that does not follow instructions is not changed by what they say.",
        critique="The search that finds it sees one benchmark, one classifier and one model: measure it with others. "
        "What the file's card states was measured on prompts the search had not seen. Searching lowered harm by 28 % "
        "on average with BlenderBot 3 (175B) and did next to nothing for GPT-2 XL (ROBBIE, tables 6 and 13).",
        citation="Zhou et al. 2022, Large Language Models Are Human-Level Prompt Engineers; Esiobu et al. 2023, "
        "ROBBIE.",
        source="ROBBIE (2023), section B.3.1",
    )

    def __call__(self, path: str) -> Prefix:
        """The mitigation; raises DataError if the file holds no instruction."""
        return read_found_instruction(Path(path)).mitigation()


instruction_file = InstructionFile()


def _plain(path: Path, content: str) -> FoundInstruction:
    text = content.strip()
    if not text:
        raise DataError(f"The instruction file {path} is empty.", "Write the instruction into it.")
    card = Card(
        NAME,
        f"An instruction from {path.name}.",
        critique="Nothing is recorded of where it comes from or what it changes.",
    )
    return FoundInstruction(text, card)
