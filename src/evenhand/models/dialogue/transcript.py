"""Plain language models: a conversation as lines of a play, whose next line the model writes.

    B is a person who says: i like tea. i have two dogs.
    A: Hi! My name is Martha.
    B:

The labels are neutral: "User" and "Assistant" would ask for service, a name for a gender.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models.contract import Generations, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import no_tokens
from evenhand.models.dialogue.gathering import written_by_rule
from evenhand.models.dialogue.history import History, Speaker
from evenhand.models.dialogue.tokens import Cutter, Told, one_line, with_stops

OTHER: dict[Speaker, Speaker] = {"A": "B", "B": "A"}


def transcript(history: History, label: str | None = None) -> tuple[str, str]:
    """Return the text before the reply: persona and first utterance, and everything after them.

    label: put behind the last utterance.

    >>> transcript(History(("i like tea.",), ("Hi!", "Hello.\\nHow are you?")))
    ('A is a person who says: i like tea.\\nA: Hi!\\n', 'B: Hello. How are you?\\nA:')
    """
    persona = f"{history.speaker} is a person who says: {' '.join(history.persona)}"
    speakers: list[Speaker] = ["A" if turn % 2 == 0 else "B" for turn in range(history.turn)]
    said = [one_line(utterance) for utterance in history.utterances]
    front = [one_line(persona) + "\n"] if history.persona else []
    lines = [
        *front,
        *(f"{who}: {text}" if text else f"{who}:" for who, text in zip(speakers, said, strict=False)),
    ]
    if label and lines:
        lines[-1] = lines[-1].removesuffix("\n") + label
    lines = [line.removesuffix("\n") + "\n" for line in lines]
    head = len(front) + min(len(said), 1)
    return "".join(lines[:head]), "".join(lines[head:]) + f"{history.speaker}:"


def stops(speaker: Speaker) -> tuple[str, ...]:
    """Strings at which the speaker's line is over: its end, or the other's label within it."""
    return ("\n", f" {OTHER[speaker]}:")


FACTS: dict[str, Any] = {"persona": "is a person who says:", "stop": {who: list(stops(who)) for who in OTHER}}
"""What transcripts are made of, for the fingerprint."""


@dataclass(frozen=True)
class TextTranscript:
    """Transcripts as texts, for models with unknown tokens: served models, scripted models, mitigated models.

    Nothing is cut: a conversation that the model has no room for is a TOO_LONG row.
    """

    model: TextGenerator
    label: str | None = None

    def facts(self) -> dict[str, Any]:
        """The labels of the two speakers and where a line ends."""
        return {"told_in": "text", **FACTS}

    def work(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """See `Telling.write`; draws depend on the texts alone, as the model's own do."""
        prompts = ["".join(transcript(history, self.label)) for history in histories]
        rules = [with_stops(decoding, stops(history.speaker)) for history in histories]
        return written_by_rule(
            rules, lambda rows, rule: self.model.generate([prompts[i] for i in rows], rule)
        )

    def window(self, history: History, max_new_tokens: int) -> bool:
        """All is read, or none."""
        return bool(history.utterances)

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Raises Unsupported: there are no tokens."""
        raise no_tokens(self.model)


class TokenTranscript:
    """Transcripts in a model's own tokens, so that what does not fit is left out at the front.

    around: token ids that the tokenizer puts in front of any text and behind it; those behind are read by an encoder
    alone.
    """

    def __init__(self, cutter: Cutter, around: tuple[list[int], list[int]], *, encoder: bool):
        self.cutter, self.encoder = cutter, encoder
        self.front, self.behind = around

    def told(self, history: History, label: str | None) -> Told:
        """See `Layout.told`."""
        first, rest = transcript(history, label)
        persona = len(transcript(History(history.persona, ()))[0])
        ids, head = self.cutter.ids_until(first + rest, len(first))
        opener = self.cutter.ids_until(first + rest, persona)[1] if history.utterances else None
        return Told(self.front, ids, self.behind if self.encoder else [], opener, head)

    def reply(self, history: History, text: str, label: str | None) -> list[int]:
        """See `Layout.reply`: a line, cut as the model would see it behind its history."""
        if self.encoder:
            return [*self.front, *self.cutter.ids(one_line(text)), *self.behind]
        before, line = "".join(transcript(history, label)), f" {one_line(text)}\n"
        whole, told = self.cutter.ids(before + line), self.cutter.ids(before)
        return whole[len(told) :] if whole[: len(told)] == told else self.cutter.ids(line)

    def said(self, text: str) -> str:
        """As it was written."""
        return text

    def stops(self, speaker: Speaker) -> tuple[str, ...]:
        """The end of the line, or the other's label."""
        return stops(speaker)

    def facts(self) -> dict[str, Any]:
        """The labels of the two speakers and where a line ends."""
        return FACTS
