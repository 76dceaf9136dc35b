"""Format a conversation as a play for plain language models, which generate the next line.

    B is a person who says: i like tea. i have two dogs.
    A: Hi! My name is Martha.
    B:

The speaker labels are neutral. "User" and "Assistant" would suggest service, and names would suggest a gender.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.models.contract import Generations, TextGenerator
from evenhand.models.decoding import Decoding
from evenhand.models.dialogue.contract import no_tokens
from evenhand.models.dialogue.gathering import written_by_rule
from evenhand.models.dialogue.history import History, Speaker
from evenhand.models.dialogue.tokens import Cutter, HistoryTokens, one_line, with_stops

OTHER: dict[Speaker, Speaker] = {"A": "B", "B": "A"}


def transcript(history: History, label: str | None = None) -> tuple[str, str]:
    """Return the text before the reply in two parts: persona and first utterance, and the rest.

    label: text after the last utterance.

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
    """Return the strings at which the speaker's line ends: a line break, or the other speaker's label within it."""
    return ("\n", f" {OTHER[speaker]}:")


FACTS: dict[str, Any] = {"persona": "is a person who says:", "stop": {who: list(stops(who)) for who in OTHER}}
"""Description of the transcript format, for the fingerprint."""


@dataclass(frozen=True)
class TextTranscript:
    """Transcripts as texts, for models with unknown tokens: served models, scripted models, mitigated models.

    Nothing is cut: a conversation that is too long for the model becomes a TOO_LONG row.
    """

    model: TextGenerator
    label: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return the labels of the two speakers, and the end of a line."""
        return {"told_in": "text", **FACTS}

    def work(self) -> dict[str, Any]:
        """Return an empty dict."""
        return {}

    def write(self, histories: Sequence[History], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Reply to each history (see `Telling.write`); the random numbers depend on the texts only."""
        prompts = ["".join(transcript(history, self.label)) for history in histories]
        rules = [with_stops(decoding, stops(history.speaker)) for history in histories]
        return written_by_rule(
            rules, lambda rows, rule: self.model.generate([prompts[i] for i in rows], rule)
        )

    def window(self, history: History, max_new_tokens: int) -> bool:
        """Return True, because the model reads the whole history or none of it."""
        return bool(history.utterances)

    def encoded(self, history: History, target: str, label: str | None) -> tuple[list[int], list[int]]:
        """Raise Unsupported, because there are no tokens."""
        raise no_tokens(self.model)


class TokenTranscript:
    """Transcripts in a model's own tokens, so that the beginning of a long history can be left out.

    around: token ids that the tokenizer adds before and after any text. Only an encoder reads those after the text.
    """

    def __init__(self, cutter: Cutter, around: tuple[list[int], list[int]], *, encoder: bool):
        self.cutter, self.encoder = cutter, encoder
        self.front, self.behind = around

    def tokenize_history(self, history: History, label: str | None) -> HistoryTokens:
        """Return the history in tokens (see `Layout.tokenize_history`)."""
        first, rest = transcript(history, label)
        persona = len(transcript(History(history.persona, ()))[0])
        ids, head = self.cutter.ids_until(first + rest, len(first))
        opener = self.cutter.ids_until(first + rest, persona)[1] if history.utterances else None
        return HistoryTokens(self.front, ids, self.behind if self.encoder else [], opener, head)

    def reply(self, history: History, text: str, label: str | None) -> list[int]:
        """Return the tokens of a reply (see `Layout.reply`): one line, tokenised as after its history."""
        if self.encoder:
            return [*self.front, *self.cutter.ids(one_line(text)), *self.behind]
        before, line = "".join(transcript(history, label)), f" {one_line(text)}\n"
        whole, told = self.cutter.ids(before + line), self.cutter.ids(before)
        return whole[len(told) :] if whole[: len(told)] == told else self.cutter.ids(line)

    def normal_spelling(self, text: str) -> str:
        """Return the reply unchanged."""
        return text

    def stops(self, speaker: Speaker) -> tuple[str, ...]:
        """Return the end of the line and the other speaker's label."""
        return stops(speaker)

    def facts(self) -> dict[str, Any]:
        """Return the labels of the two speakers, and the end of a line."""
        return FACTS
