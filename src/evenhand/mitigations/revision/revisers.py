"""Reword instructions, with a language model or with rules.

The rules do not understand the text. They replace synonyms, add an opening, and add or remove a sentence.
"""

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from evenhand.mitigations.revision.screen import normalise_wording
from evenhand.models import Decoding, LanguageModel, text_generator
from evenhand.schema import ModelError, UsageError

RULES = "rules"
DECODING = Decoding(max_new_tokens=60, temperature=0.9, top_p=0.9)
"""Decoding of rewordings: temperature and top-p as in the code of Zhou et al., and enough tokens for two sentences."""
REWORD = (
    "Say the instruction below in other words. Keep its meaning. Answer with the new instruction and nothing else.\n\n"
    "Instruction: {instruction}\nNew instruction:"
)
IMPROVE = (
    "The instruction below stands in front of texts that a computer continues. Change it so that what is written "
    "speaks of all people with more fairness and respect. Answer with the new instruction and nothing else.\n\n"
    "Instruction: {instruction}\nNew instruction:"
)


@runtime_checkable
class Reviser(Protocol):
    """Interface of an object that rewords instructions."""

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything that determines the rewordings, except instructions and seed, as JSON-serialisable data."""
        ...

    def reword(self, instructions: Sequence[str], variants: int, seed: int) -> list[list[str]]:
        """Return at most `variants` rewordings of each instruction. A different seed gives different ones.

        Raises an EvenhandError if no instruction can be reworded.
        """
        ...


@dataclass(frozen=True)
class ModelReviser:
    """A reviser that asks a language model for paraphrases and for better instructions, in alternation.

    Parameters
    ----------
    model : LanguageModel
        A model that generates text. Models trained to follow instructions give usable results.
    renderings : sequence of str
        Requests to the model, with the placeholder {instruction}.
    decoding : Decoding
        Decoding options; seed and samples are set for each request.

    Raises
    ------
    Unsupported
        The model does not generate text.
    UsageError
        A request lacks {instruction}, or decoding is greedy, which would return the same rewording every time.

    Notes
    -----
    The requests are ours. ROBBIE, section B.3.1, used text-davinci-002. Asking for paraphrases is the resampling of
    Zhou et al. 2022, section 3.3.

    >>> from evenhand.models.puppets import writes
    >>> ModelReviser(writes(lambda prompt, sample: f' "Be {sample + 2} times as kind."')).reword(["Be kind."], 2, 0)
    [['Be 2 times as kind.']]
    """

    model: LanguageModel
    renderings: tuple[str, ...] = (REWORD, IMPROVE)
    decoding: Decoding = DECODING

    def __post_init__(self) -> None:
        text_generator(self.model)
        if not self.renderings or not all("{instruction}" in rendering for rendering in self.renderings):
            raise UsageError(
                "ModelReviser: `renderings` must contain at least one request, and each request must contain "
                "{instruction}.",
                "In each request, write {instruction} where evenhand inserts the instruction that the model rewords.",
            )
        if self.decoding.is_greedy:
            raise UsageError(
                "The reviser's decoding settings are deterministic, so it would always write the same text.",
                "Pass decoding=Decoding(temperature=0.9, ...), or another temperature.",
            )

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the model, with the requests and the decoding."""
        decoding = {k: v for k, v in self.decoding.parameters().items() if k not in ("seed", "samples")}
        return {"model": self.model.fingerprint, "renderings": list(self.renderings), "decoding": decoding}

    def reword(self, instructions: Sequence[str], variants: int, seed: int) -> list[list[str]]:
        """Return rewordings (see Reviser.reword); raise ModelError if no reply to any instruction can be read."""
        samples = -(-variants // len(self.renderings))
        prompts = [
            rendering.replace("{instruction}", text) for text in instructions for rendering in self.renderings
        ]
        decoding = replace(self.decoding, samples=samples, seed=seed)
        answers = text_generator(self.model).generate(prompts, decoding)
        per = len(self.renderings) * samples
        replies = [read_reply(text or "") for text in answers.texts]
        if instructions and not any(replies):
            why = next((detail for detail in answers.details if detail), "its answers are empty")
            raise ModelError(
                f"The reviser {self.model.fingerprint.get('name', 'model')} did not write an instruction: {why}.",
                "Use a model that follows instructions, or --reviser rules.",
            )
        rewordings = []
        for i in range(len(instructions)):
            mine = replies[i * per : (i + 1) * per]
            # take the first reply to each request, then the second, so that any number of variants mixes the requests
            mixed = [mine[r * samples + s] for s in range(samples) for r in range(len(self.renderings))]
            rewordings.append(list(dict.fromkeys(text for text in mixed if text))[:variants])
        return rewordings


def read_reply(reply: str) -> str:
    """Return the instruction in a reply: its first line with words, without label, list mark and quotation marks.

    >>> read_reply('\\n1. New instruction: "Be kind to all."\\nI hope this helps!')
    'Be kind to all.'
    """
    line = next((line for line in reply.splitlines() if re.search(r"\w", line)), "").strip()
    line = re.sub(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+", "", line)
    line = re.sub(
        r"^\**(?:(?:new|revised|rewritten|reworded|improved) )?instruction\**:\**\s*", "", line, flags=re.I
    )
    for opening, closing in (('"', '"'), ("“", "”"), ("'", "'"), ("`", "`"), ("**", "**")):
        if line.startswith(opening) and line.endswith(closing) and len(line) > len(opening + closing):
            line = line[len(opening) : -len(closing)]
    return line.strip()


def load_reviser(name: str, *, device: str = "auto", dtype: str = "auto") -> Reviser:
    """Return a reviser by name: "rules" (word substitutions), or any language model.

    A model whose tokenizer has a chat template is used as a chat. A served model is used as a chat if its URL requests
    it (`...#model?chat=1`). Raises a UsageError or ModelError as `load_model` does, and Unsupported for models that do
    not generate text.

    >>> load_reviser("rules").fingerprint["name"]
    'rules'
    """
    if name == RULES:
        return RulesReviser()
    from evenhand.models import load_model

    return ModelReviser(asked_as_chat(load_model(name, device=device, dtype=dtype)))


def asked_as_chat(model: LanguageModel) -> LanguageModel:
    """Return the model with its chat template if it has one; otherwise the model itself."""
    tokenizer = getattr(model, "tokenizer", None)
    if not getattr(tokenizer, "chat_template", None) or model.architecture != "causal":
        return model
    from evenhand.models.huggingface import CausalModel

    if not isinstance(model, CausalModel) or model.options.chat is not None:
        return model
    return CausalModel(model.model, model.tokenizer, model.identity, replace(model.options, chat=True))


SYNONYMS = (
    ("the text below", "the following text", "the text that follows", "the passage below"),
    ("everyone", "everybody", "every person", "each person"),
    ("speaks of", "talks about", "writes about"),
    ("with respect", "with dignity", "with kindness", "with esteem", "with fairness", "respectfully"),
    ("relying on stereotypes", "falling back on stereotypes", "using stereotypes", "resorting to clichés"),
    ("stereotypes", "clichés", "prejudices", "ready-made ideas about people"),
    ("deserve", "are owed", "have a right to", "are entitled to"),
    ("the same treatment", "equal treatment", "the same regard", "the same courtesy"),
    ("nothing should be assumed", "nothing is to be assumed", "nothing should be taken for granted"),
    ("when nothing is known about", "if nothing is known about", "where nothing is known about"),
    ("describe", "portray", "depict", "present"),
    ("this person", "the person", "the person in question"),
    ("anybody else", "anyone else", "any other person"),
    ("polite", "courteous", "civil", "well-mannered"),
    ("respectful", "considerate", "appreciative"),
    ("kind", "friendly", "gentle", "warm-hearted"),
    ("helpful", "supportive", "constructive"),
    ("fair", "even-handed", "just", "impartial"),
    ("positive", "encouraging", "hopeful"),
    ("modest", "humble", "unassuming"),
    ("avoid", "refrain from", "keep away from"),
    ("never", "at no time"),
    ("always", "at all times"),
)
"""Phrases that can replace each other; all phrases of a row have the same number of negations."""
OPENINGS = ("Please note: ", "Keep in mind: ", "Important: ", "Remember: ", "A rule for this text: ")
ADDITIONS = (
    "This holds for all people alike.",
    "Judge people by what they do.",
    "Use fair and warm words.",
    "Every person has dignity.",
    "Think of how those who are spoken of would feel.",
    "Give people the benefit of the doubt.",
)
"""Sentences that a rule may add; they change the meaning, like the sampled instructions of Zhou et al. and ROBBIE."""
MOST_SENTENCES = 4
VERSION = 1
_SENTENCE = re.compile(r"[^.!?]+[.!?]*\s*")


@dataclass(frozen=True)
class RulesReviser:
    """A reviser that applies one or two of the rules in `changes`, chosen by the seed and the instruction.

    Use it in tests, or if you have no model that follows instructions. Its vocabulary is small.

    >>> RulesReviser().reword(["Be kind."], variants=2, seed=0)
    [['Be kind. Think of how those who are spoken of would feel.', 'Be warm-hearted.']]
    """

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the name and a hash of the rules."""
        rules = repr((SYNONYMS, OPENINGS, ADDITIONS, MOST_SENTENCES, VERSION))
        return {"name": "rules", "rules": hashlib.sha256(rules.encode()).hexdigest()[:16]}

    def reword(self, instructions: Sequence[str], variants: int, seed: int) -> list[list[str]]:
        """Return rewordings (see Reviser.reword); fewer than `variants` if the rules allow no more."""
        return [_draw_rewordings(text, variants, random.Random(f"{seed} {text}")) for text in instructions]


def changes(instruction: str) -> list[str]:
    """Return all instructions that one rule makes from an instruction, without duplicates.

    A rule replaces a phrase by a synonym; adds, replaces or removes an opening; or adds (from ADDITIONS), removes or
    moves a sentence.

    >>> [text for text in changes("Be kind.") if text.startswith("Be") and "." not in text[:-1]]
    ['Be friendly.', 'Be gentle.', 'Be warm-hearted.']
    """
    opening, body = _split_opening(" ".join(instruction.split()))
    sentences = [sentence.strip() for sentence in _SENTENCE.findall(body)] or [body]
    made = [opening + text for text in _with_synonyms(body)]
    made += [other + body for other in ("", *OPENINGS) if other != opening]
    if len(sentences) < MOST_SENTENCES:
        before = normalise_wording(body)
        made += [
            f"{opening}{_end_sentence(body)} {more}"
            for more in ADDITIONS
            if normalise_wording(more) not in before
        ]
    if len(sentences) > 1:
        for i in range(len(sentences)):
            rest = sentences[:i] + sentences[i + 1 :]
            made.append(opening + " ".join(rest))
            if i:
                made.append(opening + " ".join([_end_sentence(sentences[i]), *rest]))
    distinct = {normalise_wording(text): text for text in reversed(made)}
    distinct.pop(normalise_wording(instruction), None)
    return [text for text in dict.fromkeys(made) if distinct.get(normalise_wording(text)) == text]


def _draw_rewordings(instruction: str, variants: int, generator: random.Random) -> list[str]:
    first = changes(instruction)
    generator.shuffle(first)
    rewordings: dict[str, str] = {}
    original = normalise_wording(instruction)
    for text in first:
        if len(rewordings) == variants:
            break
        if generator.random() < 0.5:
            further = changes(text)
            text = further[generator.randrange(len(further))]
        if normalise_wording(text) != original:
            rewordings.setdefault(normalise_wording(text), text)
    return list(rewordings.values())


def _with_synonyms(body: str) -> list[str]:
    made = []
    for row in SYNONYMS:
        # longest first, so that a phrase is preferred to a shorter phrase at its beginning
        pattern = "|".join(re.escape(phrase) for phrase in sorted(row, key=len, reverse=True))
        whole = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)
        for said in dict.fromkeys(found[0].lower() for found in whole.finditer(body)):
            made += [whole.sub(_phrase_replacer(other, said), body) for other in row if other != said]
    return made


def _phrase_replacer(other: str, said: str) -> Callable[[re.Match[str]], str]:
    """Replace a phrase everywhere, so that the wording stays consistent within a text."""

    def replace_phrase(found: re.Match[str]) -> str:
        if found[0].lower() != said:
            return found[0]
        return other[0].upper() + other[1:] if found[0][0].isupper() else other

    return replace_phrase


def _split_opening(text: str) -> tuple[str, str]:
    for opening in OPENINGS:
        if text.startswith(opening) and len(text) > len(opening):
            return opening, text[len(opening) :]
    return "", text


def _end_sentence(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence.rstrip(' :,;')}."
