"""BlenderBot, the small one of 90M, and DialoGPT: turns one after the other, as in the data they were trained on.

Each turn is cut into tokens by itself, as ParlAI does it, and the delimiter stands between: what a tokenizer makes of
two turns as one text differs in the space in front of the second.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evenhand.models.dialogue.history import History, Speaker
from evenhand.models.dialogue.options import PersonaLayout
from evenhand.models.dialogue.tokens import Cutter, Told, one_line
from evenhand.schema import Unsupported

PERSONA = "your persona: "
READ = {"blenderbot": 128, "blenderbot-small": 512, "dialogpt": 768}
"""Tokens of a history that are read, as in the options the models were released with."""
DELIMITER = "  "
LINE = "__newln__"
WORDS = re.compile(r"\w+|[^\w\s]")
SIGNS = re.compile(r"\s*(?:__(?:newln|null|start|end|unk)__\s*)+")
"""Tokens of the small model that are no words, as its tokenizer spells them."""


def turns_of(history: History, label: str | None, layout: PersonaLayout | None) -> tuple[list[str], int, int]:
    """A history as turns, persona lines in front. layout: None makes each persona line a turn.

    Returns the turns, the number of that which holds utterance 1, and the character at which it begins there.

    >>> turns_of(History(("i like tea.",), ("Hi!", "Hello.")), None, "training")
    (['your persona: i like tea.\\nHi!', 'Hello.'], 0, 26)
    >>> turns_of(History(("i like tea.",), ("Hi!",)), " X", "self-chat")
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
    """Turns with a delimiter between.

    delimiter: its tokens. end: those behind the whole history. layout: where the persona stands; None where a line
    break is the delimiter itself. spell: a turn's characters as they are cut into tokens, and `before`, the number
    of these that precede the turn's own. unspell: the way back, of a reply.
    """

    cutter: Cutter
    delimiter: list[int]
    end: list[int]
    layout: PersonaLayout | None
    spell: Callable[[str], str]
    unspell: Callable[[str], str]
    before: int = 0

    def told(self, history: History, label: str | None) -> Told:
        """See `Layout.told`."""
        turns, first, begins = turns_of(history, label, self.layout)
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
        return Told([], ids, self.end if turns else [], opener, len(ids) if head is None else head)

    def reply(self, history: History, text: str, label: str | None) -> list[int]:
        """See `Layout.reply`."""
        return [*self.cutter.ids(self.spell(one_line(text))), self.cutter.end]

    def said(self, text: str) -> str:
        """What the model wrote, put as a person would."""
        return self.unspell(text)

    def stops(self, speaker: Speaker) -> tuple[str, ...]:
        """None: these models end by themselves."""
        return ()

    def facts(self) -> dict[str, Any]:
        """Tokens between turns and behind them, and the layout of the persona."""
        return {
            "delimiter": self.delimiter,
            "end": self.end,
            **({} if self.layout is None else {"persona_layout": self.layout}),
        }


def blenderbot(cutter: Cutter, layout: PersonaLayout) -> TurnLayout:
    """BlenderBot 400M, 1B and 3B: two spaces between turns, one end token behind all, nothing in front.

    A turn has a space in front of its own, because ParlAI's tokenizer puts one there.
    Source: options of the released models in ParlAI (delimiter of two spaces, global end token).
    """
    end = [cutter.end]
    return TurnLayout(cutter, cutter.ids(DELIMITER), end, layout, " {}".format, str, before=1)


def dialogpt(cutter: Cutter, layout: PersonaLayout) -> TurnLayout:
    """DialoGPT: the end token between turns and behind them, nothing in front. Source: Zhang et al. 2020, 3.1."""
    return TurnLayout(cutter, [cutter.end], [cutter.end], layout, str, str)


def blenderbot_small(cutter: Cutter) -> TurnLayout:
    """BlenderBot 90M: lower case, words and marks apart, a token for the line break between turns and nothing behind.

    transformers' tokenizer leaves all marks but `.,!?()'` in their words; ParlAI, which the model was trained with,
    does not. Raises Unsupported for tokenizers without the token for line breaks.
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
    """A text in lower case with a space between any two words and marks.

    >>> words_apart("Hi! I'm Martha: left-handed.")
    "hi ! i ' m martha : left - handed ."
    """
    return " ".join(WORDS.findall(text.lower()))


def as_written(text: str) -> str:
    """Apostrophes and the marks that end sentences put back to their words, which the model reads as the same tokens.

    A word of which the last piece is missing loses the sign that it goes on. Line breaks become spaces, as in all
    utterances, and so does what else is no word: told again, the tokenizer would read letters and underscores.

    >>> as_written("hi ! i ' m martha , __newln__ and y@@")
    "hi! i'm martha, and y"
    """
    text = SIGNS.sub(" ", text).strip().removesuffix("@@")
    return re.sub(r" ([.,!?])", r"\1", re.sub(r"(?<=\w) ' (?=\w)", "'", text))
