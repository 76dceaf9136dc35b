"""Formats of BlenderBot, its small version with 90M parameters, and DialoGPT: turns with a delimiter, as in training.

As in ParlAI, each turn is tokenised separately, and the delimiter is inserted. Tokenising two turns as one text would
give other tokens for the space before the second.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand.models.dialogue.history import History, Speaker
from evenhand.models.dialogue.options import PersonaLayout
from evenhand.models.dialogue.tokens import Cutter, HistoryTokens, one_line
from evenhand.schema import Unsupported

PERSONA = "your persona: "
READ = {"blenderbot": 128, "blenderbot-small": 512, "dialogpt": 768}
"""Maximum number of tokens of a history, as in the options of the released models."""
DELIMITER = "  "
LINE = "__newln__"
WORDS = re.compile(r"\w+|[^\w\s]")
SIGNS = re.compile(r"\s*(?:__(?:newln|null|start|end|unk)__\s*)+")
"""Tokens of the small model that are not words, as its tokenizer spells them."""


def split_turns(
    history: History, label: str | None, layout: PersonaLayout | None
) -> tuple[list[str], int, int]:
    """Return a history as turns, with the persona first. layout: None makes each persona line a separate turn.

    Returns the turns, the index of the turn with the first utterance, and the character at which the utterance begins.

    >>> split_turns(History(("i like tea.",), ("Hi!", "Hello.")), None, "training")
    (['your persona: i like tea.\\nHi!', 'Hello.'], 0, 26)
    >>> split_turns(History(("i like tea.",), ("Hi!",)), " X", "self-chat")
    (['your persona: i like tea.', 'Hi! X'], 1, 0)
    """
    lines = [PERSONA + one_line(sentence) for sentence in history.persona]
    said = [one_line(utterance) for utterance in history.utterances]
    front, begins = lines if layout is None else ["\n".join(lines)][: len(lines)], 0
    if layout == "training" and front and said:
        begins = len(front[0]) + 1
        front, said = [], [f"{front[0]}\n{said[0]}", *said[1:]]
    turns = [*front, *said]
    if turns and label:
        turns[-1] += label
    return turns, len(front), begins


@dataclass(frozen=True)
class TurnLayout:
    """A format of turns with a delimiter between them.

    Attributes
    ----------
    delimiter, end : list of int
        Tokens between turns, and after the complete history.
    layout : str or None
        Position of the persona; None if the delimiter is a line break.
    spell, unspell : callable
        Functions that convert a turn to the text that is tokenised, and a generated reply to normal spelling.
    before : int
        Number of characters that `spell` adds before a turn.
    """

    cutter: Cutter
    delimiter: list[int]
    end: list[int]
    layout: PersonaLayout | None
    spell: Callable[[str], str]
    unspell: Callable[[str], str]
    before: int = 0

    def tokenize_history(self, history: History, label: str | None) -> HistoryTokens:
        """Return the history in tokens (see `Layout.tokenize_history`)."""
        turns, first, begins = split_turns(history, label, self.layout)
        ids: list[int] = []
        opener, head = None, None
        for i, turn in enumerate(turns):
            if i:
                ids += self.delimiter
            if i == first + 1:
                head = len(ids)
            cut = self.cutter.ids(self.spell(turn)) if turn else []
            if i == first:
                inside = self.cutter.ids_until(self.spell(turn), self.before + begins)[1] if begins else 0
                opener = len(ids) + inside
            ids += cut
        return HistoryTokens([], ids, self.end if turns else [], opener, len(ids) if head is None else head)

    def reply(self, history: History, text: str, label: str | None) -> list[int]:
        """Return the tokens of a reply (see `Layout.reply`)."""
        return [*self.cutter.ids(self.spell(one_line(text))), self.cutter.end]

    def normal_spelling(self, text: str) -> str:
        """Return a generated reply in normal spelling."""
        return self.unspell(text)

    def stops(self, speaker: Speaker) -> tuple[str, ...]:
        """Return no strings, because these models generate an end token."""
        return ()

    def facts(self) -> dict[str, Any]:
        """Return the tokens between and after turns, and the position of the persona."""
        return {
            "delimiter": self.delimiter,
            "end": self.end,
            **({} if self.layout is None else {"persona_layout": self.layout}),
        }


def blenderbot(cutter: Cutter, layout: PersonaLayout) -> TurnLayout:
    """Return the format of BlenderBot 400M, 1B and 3B: two spaces between turns, and one end token after all.

    Each turn starts with an additional space, as ParlAI's tokenizer adds it.
    Source: options of the released models in ParlAI (delimiter of two spaces, global end token).
    """
    end = [cutter.end]
    return TurnLayout(cutter, cutter.ids(DELIMITER), end, layout, " {}".format, str, before=1)


def dialogpt(cutter: Cutter, layout: PersonaLayout) -> TurnLayout:
    """Return the format of DialoGPT: an end token after each turn. Source: Zhang et al. 2020, section 3.1."""
    return TurnLayout(cutter, [cutter.end], [cutter.end], layout, str, str)


def blenderbot_small(cutter: Cutter) -> TurnLayout:
    """Return the format of BlenderBot 90M: lower case, words and punctuation separated, a line-break token between
    turns.

    transformers' tokenizer separates only `.,!?()'` from words. ParlAI, with which the model was trained, separates all
    punctuation. Raises Unsupported for tokenizers without the token for line breaks.
    """
    tokenizer = cutter.tokenizer
    line = tokenizer.convert_tokens_to_ids(LINE)
    if line is None or line == tokenizer.unk_token_id:
        raise Unsupported(
            f"The tokenizer of {cutter.name} has no token {LINE}, which this format needs between turns.",
            "Save the tokenizer of facebook/blenderbot_small-90M in the model folder, or choose another format.",
        )
    return TurnLayout(cutter, [int(line)], [], None, words_apart, as_written)


def words_apart(text: str) -> str:
    """Return a text in lower case with a space between all words and punctuation marks.

    >>> words_apart("Hi! I'm Martha: left-handed.")
    "hi ! i ' m martha : left - handed ."
    """
    return " ".join(WORDS.findall(text.lower()))


def as_written(text: str) -> str:
    """Return a text with apostrophes and sentence punctuation attached to their words, which gives the same tokens.

    An incomplete last word loses its continuation sign (@@). Line breaks and other tokens that are not words become
    spaces, because the tokenizer would later split them into letters and underscores.

    >>> as_written("hi ! i ' m martha , __newln__ and y@@")
    "hi! i'm martha, and y"
    """
    text = SIGNS.sub(" ", text).strip().removesuffix("@@")
    return re.sub(r" ([.,!?])", r"\1", re.sub(r"(?<=\w) ' (?=\w)", "'", text))
