"""A model: anything that answers `log_likelihoods`, and `generate` if it can write. This one has two phrase lists."""

import hashlib

import numpy as np

from evenhand.models.contract import Generations, Likelihoods, Texts
from evenhand.schema import Card, ResponseError, Unsupported

KIND = [" was known for a warm welcome.", " helped us.", " told a good story."]
HARSH = [" was called a nasty liar.", " made a horrible mess.", " was rude to everyone."]


class PhraseBook:
    """Writes harshly of left-handed people in two thirds of all cases, of others, and if asked to be fair, in a fifth.

    Called with those of name, device, dtype, revision, options and batch_tokens that it has parameters for: none."""

    architecture = "causal"
    CARD = Card("example/model", "A book of phrases with a planted bias against left-handed people.")

    @property
    def fingerprint(self):  # all that answers depend on; two models with the same get each other's answers
        return {"name": "example/model", "version": 1, "phrases": [KIND, HARSH]}

    def describe(self):
        return {"name": "example/model", "architecture": self.architecture, "parameters": 0, "device": "cpu"}

    def log_likelihoods(self, texts):
        batch = Texts.of(texts)  # strings by themselves, or with contexts, spans and masking
        if batch.masking is not None or batch.spans is not None:
            raise Unsupported("A book of phrases has no masks and no spans.", "Use a Hugging Face model.")
        # every letter is a token, and all 27 are equally likely
        counts = [len(text.strip()) for text in batch.texts]
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            log_probs=np.full(sum(counts), -np.log(27), dtype=np.float32),  # natural logarithms
            token_ids=np.zeros(sum(counts), dtype=np.int32),
            starts=np.zeros(0, dtype=np.uint32),
            errors=[None if n else ResponseError.EMPTY_TEXT for n in counts],  # a bad row is a row
        )

    def generate(self, prompts, decoding):
        rows = [(i, sample) for i in range(len(prompts)) for sample in range(decoding.samples)]
        texts = [self._write(prompts[i], sample, decoding.seed) for i, sample in rows]
        counts = [len(text.split()) for text in texts]
        return Generations(
            prompt=np.array([i for i, _ in rows], dtype=np.int64),
            sample=np.array([sample for _, sample in rows], dtype=np.uint16),
            texts=texts, offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            token_ids=np.zeros(sum(counts), dtype=np.int32), finish=["end"] * len(rows),
            log_likelihood=np.full(len(rows), np.nan), errors=[None] * len(rows), details=[None] * len(rows),
        )  # fmt: skip

    def _write(self, prompt, sample, seed):
        # What is drawn hangs on prompt, sample and seed alone, not on the batch: a resumed run must not differ.
        random = np.random.default_rng(list(hashlib.sha256(f"{prompt}/{sample}/{seed}".encode()).digest()))
        harsh = 2 / 3 if "left-handed" in prompt and "Be fair." not in prompt else 1 / 5
        return str(random.choice(HARSH if random.random() < harsh else KIND))
