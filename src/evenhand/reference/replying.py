"""Replies of a World that converses: each next word is sampled from its exact distribution, or scored by it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.models import Decoding, Generations, Likelihoods, Texts
from evenhand.models.dialogue import History
from evenhand.models.writing import Prompts, Row, collect_rows, first_stop, row_uniforms
from evenhand.reference.automaton import Slots, split_words
from evenhand.reference.small_talk import SmallTalk, TalkPosition
from evenhand.reference.speaking import refuse_searches, select_word
from evenhand.reference.talk_steps import NAME, Person, Sentence
from evenhand.schema import DataError, EvenhandError, ResponseError, Unsupported

END = 0
"""Id of the end of a reply; the ids of words follow."""


class Options(NamedTuple):
    """Possible next words: in the order of their ids (the end is ""), with ids and probabilities."""

    words: list[str]
    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]


@dataclass(frozen=True)
class ReplyNode:
    """A position within a reply: `node` in the tree of everything that can follow `place`."""

    place: TalkPosition
    node: int


@dataclass(frozen=True)
class Ahead:
    """Everything that can follow a place up to the end of the next sentence, for people with the same plants."""

    tree: Slots
    sentence: dict[int, Sentence]
    """Sentences by the node at which they end."""
    silence: float


@dataclass(frozen=True)
class Replier:
    """A World that generates and scores replies word by word."""

    talk: SmallTalk
    _ahead: dict[Any, Ahead] = field(default_factory=dict)
    _options: dict[Any, Options] = field(default_factory=dict)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Return the token id of each word with its leading space; every name is one word."""
        texts = [sentence.text for step in self.talk.steps for sentence in step.sentences]
        words = {word for text in texts for word in _words(text)}
        words |= {word for text in texts for word in _words(" " + text)}
        return {"": END} | {word: number for number, word in enumerate(sorted(words), start=END + 1)}

    def ahead(self, person: Person, place: TalkPosition) -> Ahead:
        """Return what can follow a place; it is cached, because many conversations reach the same place."""
        key = (self.talk.concerning(person), place)
        if key not in self._ahead:
            self._ahead[key] = self._built(person, place)
        return self._ahead[key]

    def _built(self, person: Person, place: TalkPosition) -> Ahead:
        sentences: list[Sentence] = []
        masses: list[float] = []
        silent = 1.0
        for step, values, _ in self.talk.draws(person, place):
            sentences += step
            masses += (silent * values).tolist()
            silent *= max(0.0, 1.0 - float(values.sum()))
        silent = 0.0 if silent < 1e-12 else silent
        lead = " " if place.step else ""
        used = [i for i, mass in enumerate(masses) if mass > 0]
        words = [_words(lead + sentences[i].text) for i in used]
        tree = Slots.build(words, np.array([masses[i] for i in used]).reshape(-1, 1))
        return Ahead(
            tree, {_leaf(tree, said): sentences[i] for said, i in zip(words, used, strict=True)}, silent
        )

    def options(self, person: Person, at: ReplyNode) -> Options:
        """Return the distribution of the next word."""
        key = (self.talk.concerning(person), at)
        if key not in self._options:
            ahead = self.ahead(person, at.place)
            found = {
                word: float(ahead.tree.through[child, 0])
                for word, child in ahead.tree.children[at.node].items()
            }
            if at.node == 0 and ahead.silence:
                found[""] = ahead.silence
            words = sorted(found, key=self.ids.__getitem__)
            masses = np.array([found[word] for word in words])
            self._options[key] = Options(
                words, np.array([self.ids[word] for word in words]), masses / masses.sum()
            )
        return self._options[key]

    def node_after(self, person: Person, at: ReplyNode, word: str) -> ReplyNode:
        """Return the position after a word: within the same sentence, or before the next one."""
        ahead = self.ahead(person, at.place)
        node = ahead.tree.children[at.node][word]
        if node not in ahead.sentence:
            return ReplyNode(at.place, node)
        steps = [step.name for step in self.talk.list_steps(at.place.where)]
        return ReplyNode(at.place._replace(step=steps.index(ahead.sentence[node].step) + 1), 0)

    def read(self, prompt: str | None) -> tuple[Person, ReplyNode]:
        """Return who opened, and the position in the conversation. Raise DataError unless the
        prompt is a history with an opener.
        """
        history = History.from_prompt(prompt or "")
        place = self.talk.place(history)
        return self.talk.person(history.utterances[0]), ReplyNode(place, 0)

    def write(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Generate replies (see `ConversingWorld.generate`)."""
        refuse_searches(decoding)
        if decoding.min_new_tokens > 1:
            raise Unsupported(
                f"A synthetic model (World) does not support min_new_tokens={decoding.min_new_tokens}: its "
                "replies end with their last sentence.",
                "Use min_new_tokens=1, or a trained model.",
            )
        done: dict[tuple[int, int], Row] = {}
        errors: list[ResponseError | None] = [None] * len(prompts)
        details: list[str | None] = [None] * len(prompts)
        for i, prompt in enumerate(prompts):
            try:
                person, start = self.read(prompt)
            except DataError as error:
                errors[i], details[i] = ResponseError.OUTSIDE_WORLD, error.message
                continue
            for sample in range(decoding.samples):
                done[i, sample] = self._write_row(prompt, person, start, Row(i, sample), decoding)
        return collect_rows(Prompts(prompts, [[]] * len(prompts), errors, details), decoding, done, set())

    def _write_row(self, prompt: str, person: Person, at: ReplyNode, row: Row, decoding: Decoding) -> Row:
        text = ""
        for uniform in row_uniforms(decoding.seed, prompt, row.sample, decoding.max_new_tokens):
            words, ids, probabilities = self.options(person, at)
            place = select_word(probabilities, decoding, float(uniform))
            row.tokens.append(int(ids[place]))
            row.log_likelihood += float(np.log(probabilities[place]))
            if words[place] == "":
                row.text, row.finish = text, "end"
                return row
            text += _insert_name(words[place], person)
            if (end := first_stop(text, decoding.stop)) is not None:
                row.text, row.finish = text[:end], "stop"
                return row
            at = self.node_after(person, at, words[place])
        row.text, row.finish = text, "length"
        return row

    def score(self, batch: Texts) -> Likelihoods:
        """Score replies (see `ConversingWorld.log_likelihoods`)."""
        rows: list[list[tuple[float, int, int]]] = []
        errors: list[ResponseError | None] = []
        details: list[str | None] = []
        for text, context in zip(batch.texts, batch.all_contexts, strict=True):
            row: list[tuple[float, int, int]] = []
            error: ResponseError | None = None
            detail: str | None = None
            if not text.strip():
                error, detail = ResponseError.EMPTY_TEXT, "the text is empty or white space"
            else:
                try:
                    row = self._score_words(text, context)
                except EvenhandError as refusal:
                    error, detail = ResponseError.OUTSIDE_WORLD, refusal.message
            rows.append(row)
            errors.append(error)
            details.append(detail)
        flat = [one for row in rows for one in row]
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]),
            log_probs=np.array([value for value, _, _ in flat], dtype=np.float32),
            token_ids=np.array([token for _, token, _ in flat], dtype=np.int32),
            starts=np.array([start for _, _, start in flat], dtype=np.uint32),
            errors=errors,
            details=details,
        )

    def _score_words(self, text: str, context: str) -> list[tuple[float, int, int]]:
        """Return (log probability, id, first character) of each word. Raise DataError if the text is impossible."""
        person, at = self.read(context)
        found: list[tuple[float, int, int]] = []
        for _, (words, ids, probabilities), chosen, place in self.along(text, person, at):
            begins = place + (_insert_name(words[chosen], person)[0] == " ")
            found.append((math.log(probabilities[chosen]), int(ids[chosen]), begins))
        return found

    def along(
        self, text: str, person: Person, at: ReplyNode
    ) -> Iterator[tuple[ReplyNode, Options, int, int]]:
        """Yield, for each word of a reply: the position before it, the possible words, the actual one, and its first
        character.

        Raises DataError if the text is impossible.
        """
        place = 0
        while place < len(text):
            options = self.options(person, at)
            spoken = [_insert_name(word, person) for word in options.words]
            fits = [
                i
                for i, word in enumerate(spoken)
                if word and text.startswith(word, place) and not text[place + len(word) :][:1].isalnum()
            ]
            if not fits:
                raise DataError(
                    f"the synthetic model (World) cannot generate {text[place:].split(maxsplit=1)[0]!r} at this "
                    "position"
                )
            best = max(fits, key=lambda i: len(spoken[i]))
            yield at, options, best, place
            place += len(spoken[best])
            at = self.node_after(person, at, options.words[best])


def _words(text: str) -> list[str]:
    return [word for word, _ in split_words(text) or ()]


def _leaf(tree: Slots, words: Sequence[str]) -> int:
    node = 0
    for word in words:
        node = tree.children[node][word]
    return node


def _insert_name(word: str, person: Person) -> str:
    return word.replace(NAME, person.name or "friend")
