"""Unlikelihood on self-chats: make tokens less likely that conversations with one gender's names overuse."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evenhand.measures import MARTHA
from evenhand.mitigations.training.dialogue.penalties import (
    GROUP,
    SequenceUnlikelihood,
    TokenUnlikelihood,
)
from evenhand.mitigations.training.dialogue.plain import (
    OnSelfChats,
    reply_lesson,
    require_self_chats,
    split_facts,
)
from evenhand.mitigations.training.dialogue.token_ratios import SMOOTHING, TokenRatios, token_ratios
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.replies import reply_tokens
from evenhand.schema import Card, DataError, UsageError
from evenhand.stats import Floats

CITED = f"{MARTHA} Welleck et al. 2019, Neural text generation with unlikelihood training (arXiv:1908.04319)."
HARM = "The words of a conversation depend on the gender that the opener's name suggests."
GROUPS = "The genders of the names, as stated in the self-chats."
NULL = (
    "With weight=0, the method is self-chat tuning, the control. Every search also trains this control and "
    "compares it with the chosen trial."
)
EXCESS = (
    "The excess of a token is its ratio minus 1, and at least 0. The ratio is its frequency in conversations with "
    "names of the gender divided by its frequency in all conversations. For smoothing, `smoothing` tokens with the "
    "overall frequencies are added to the counts. The paper states 'proportional to its extent of overindexing'; "
    "the exact form is ours. Ratios use only the training names. Names are overused, too, so calling people by "
    "their names is also penalised. `weight` is the paper's alpha. Try several values with `--search grid --over "
    "weight=0.1,1,10,100`, which chooses among those that raise perplexity by at most 5%."
)
CARD_OF_TOKENS = Card(
    "unlikelihood-token",
    "Self-chat tuning with a penalty on learned tokens that conversations with names of the same gender overuse.",
    construct="How certain a model is of tokens that mark the gender of the opener's name.",
    harm=HARM,
    groups=GROUPS,
    null=NULL,
    critique="A token is learned and penalised at the same time. If all alternatives are penalised and a token "
    "follows with probability q, its optimal probability is q / (1 + weight × excess × q), or 1 / (1 + weight × "
    "excess) if it always follows. The method therefore limits confidence. A token that is one of many changes "
    "little, unless the weight is so large that the difference is reversed. In the paper's Table 6, its row equals "
    "that of the control. The penalty applies to the text in the data, not to text that the model would generate.",
    citation=CITED,
    source="Smith & Williams 2021, section 5.3; the penalty is a mean over penalised tokens, as in ParlAI",
    details=EXCESS,
)
CARD_OF_SEQUENCES = Card(
    "unlikelihood-sequence",
    "Self-chat tuning with a penalty on generated tokens that conversations with names of the same gender overuse.",
    construct="How often a model itself generates tokens that mark the gender of the opener's name.",
    harm=HARM,
    groups=GROUPS,
    null=NULL,
    critique="Each step generates text, which takes several times as long. Generation is greedy, so a word becomes "
    "less likely only until another word is more likely. With sampling, more of it remains. The penalty suggests "
    "no replacement. With a strong penalty, texts become odd (people found the paper's model less human).",
    citation=CITED,
    source="Smith & Williams 2021, section 5.3; the penalty is a mean over penalised tokens, as in ParlAI",
    details="Each training step samples one position within the shortest reply of the batch. After this number of "
    "tokens of each reply, the model generates greedily, at most `max_new_tokens`, without gradients. It then reads "
    "the generated text with gradients. " + EXCESS,
)


@dataclass(frozen=True)
class UnlikelihoodOfTokens(OnSelfChats):
    """The method unlikelihood-token.

    weight: weight of the penalty relative to language modelling, alpha in the paper. smoothing: see `token_ratios`.
    Raises UsageError for numbers below 0.
    """

    name: ClassVar[str] = "unlikelihood-token"
    card: ClassVar[Card] = CARD_OF_TOKENS

    weight: float = 1.0
    smoothing: float = SMOOTHING

    def __post_init__(self) -> None:
        for name in ("weight", "smoothing"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be 0 or more, got {getattr(self, name)}.")

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return all replies of names with a gender. Raise DataError if no token is overused."""
        chats = require_self_chats(material)
        cut, ends = reply_tokens(encoding)
        ratios = token_ratios(
            chats.table(chats.learned), cut, len(tokenizer), group="gender", smoothing=self.smoothing
        )
        excess = ratios.weights()
        if not excess.any():
            raise DataError(
                "No token is more frequent in the conversations of one gender's names than in all, so nothing "
                "would be penalised.",
                "Use self-chats of more names, or train the control: --method self-chat.",
            )
        said = [(chat.gender, reply) for chat in chats.chats if chat.gender for reply in chat.replies()]
        facts = {
            "replies": len(said),
            "penalised_tokens_of_the_vocabulary": int((excess > 0).any(axis=0).sum()),
            **split_facts(chats),
            "tokens": dict(zip(ratios.groups, ratios.tokens, strict=True)),
            "ratios_sha256": ratios.digest(),
            "most_overindexed": most_overindexed(ratios, tokenizer),
        }
        lesson = reply_lesson([reply for _, reply in said], encoding, facts)
        groups = np.array([ratios.groups.index(gender) for gender, _ in said], dtype=np.int64)
        examples = lesson.examples.with_values({GROUP: groups})
        return replace(lesson, examples=examples, objective=self.objective(excess, ends))

    def objective(self, excess: Floats, ends: tuple[int, ...]) -> TokenUnlikelihood:
        """Return the objective. excess: weights w, (groups, vocabulary). ends: tokens that end a reply."""
        return TokenUnlikelihood(_table(excess), self.weight)


@dataclass(frozen=True)
class UnlikelihoodOfSequences(UnlikelihoodOfTokens):
    """The method unlikelihood-sequence.

    max_new_tokens: maximum number of tokens that the model generates after the beginning of a reply. Raises UsageError
    as `UnlikelihoodOfTokens` does.
    """

    name: ClassVar[str] = "unlikelihood-sequence"
    card: ClassVar[Card] = CARD_OF_SEQUENCES

    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_new_tokens < 1:
            raise UsageError(f"max_new_tokens must be 1 or more, got {self.max_new_tokens}.")

    def objective(self, excess: Floats, ends: tuple[int, ...]) -> SequenceUnlikelihood:
        """Return the objective (see `UnlikelihoodOfTokens.objective`)."""
        return SequenceUnlikelihood(
            _table(excess), self.weight, ends=ends[:1], max_new_tokens=self.max_new_tokens
        )


def _table(excess: Floats) -> Any:
    import torch

    return torch.from_numpy(excess.astype(np.float32))


def most_overindexed(
    ratios: TokenRatios, tokenizer: Any, number: int = 10
) -> dict[str, list[dict[str, Any]]]:
    """Return the complete words and punctuation marks that each group overuses most, for the training record.

    Parts of words and of characters are left out here, although training penalises them too. Each row has the token,
    its ratio, and its number of occurrences in the group's conversations and in all conversations.
    """
    order = np.argsort(-ratios.ratios, axis=1, kind="stable")
    known: dict[int, str | None] = {}
    found: dict[str, list[dict[str, Any]]] = {}
    for place, group in enumerate(ratios.groups):
        rows = found[group] = []
        for token in map(int, order[place]):
            if len(rows) == number or ratios.ratios[place, token] <= 1:
                break
            if token not in known:
                known[token] = _readable(token, tokenizer)
            if (word := known[token]) is not None:
                rows.append(
                    {
                        "token": word,
                        "ratio": round(float(ratios.ratios[place, token]), 3),
                        "count": int(ratios.counts[place, token]),
                        "count_in_all": int(ratios.counts[:, token].sum()),
                    }
                )
    return found


def _readable(token: int, tokenizer: Any) -> str | None:
    """Return a token as readable text if it is a complete word or sign; otherwise None."""
    word = str(tokenizer.decode([token])).strip()
    if not word or not word.isprintable() or "\ufffd" in word:
        return None
    written = [f" {word}"] if word[0].isalnum() else [f" {word}", word]
    alone = [tokenizer.encode(text, add_special_tokens=False) for text in written]
    return word if [token] in alone else None
