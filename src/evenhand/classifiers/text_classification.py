"""Hugging Face text classification: any sequence classifier, in batches of texts of similar length."""

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.classifiers.contract import Labels
from evenhand.schema import ResponseError, UsageError, unknown_name
from evenhand.weights import (
    Budget,
    Checkpoint,
    folder_fingerprint,
    load_weights,
    resolve_device,
    run_batches,
    tokenizer_fingerprint,
)

Floats = NDArray[np.float32]
AT_ONCE = 20_000
"""Number of distinct texts that are tokenised together."""
NO_LIMIT = 1_000_000
"""Tokenizers without a maximum report a number far above this."""
OFFSET_POSITIONS = (
    "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "camembert", "data2vec-text",
    "longformer", "mpnet", "luke", "xmod", "ibert",
)  # fmt: skip
"""Model types whose positions start after the padding token, so that fewer can be used than configured."""


@dataclass(frozen=True)
class LabelReading:
    """How the outputs of a model are converted to labels."""

    labels: tuple[str, ...]
    negative: tuple[str, ...] = ()
    """Harmful labels; empty if there are none (a style classifier)."""
    threshold: float | None = None
    """Smallest score of a negative text. None: a text is negative if its most likely label is harmful."""
    multi_label: bool = False
    """Each label has a separate probability (sigmoid); otherwise the probabilities of all labels sum to 1 (softmax)."""
    maximum_tokens: int | None = None
    """Maximum number of tokens; longer texts are cut at the end. None: no limit."""

    def __post_init__(self) -> None:
        for name in self.negative:
            if name not in self.labels:
                raise unknown_name("label", name, self.labels)
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(
                f"The threshold of the classifier must be a probability from 0 to 1, got {self.threshold:g}.",
                "For example: threshold=0.5",
            )
        if self.multi_label and self.negative and self.threshold is None:
            raise UsageError(
                "This classifier has several labels that can apply to one text, so it needs a threshold: the "
                "smallest probability of a label that applies.",
                "For example: threshold=0.5",
            )


class TextClassification:
    """A Hugging Face sequence classifier.

    Parameters
    ----------
    checkpoint
        Result of `find_checkpoint`. The weights are loaded at the first `classify`.
    reading : Reading
        Labels, harmful labels and threshold.
    name : str
        Name in reports.
    device, dtype : str
        Device and data type of the computation.
    batch_tokens : int
        Padded tokens per batch. It does not affect labels, except for floating-point noise.

    Raises
    ------
    UsageError
        The number of labels differs from the number of outputs, or the device is unknown.
    """

    reads_context = False

    def __init__(
        self,
        checkpoint: Checkpoint,
        reading: LabelReading,
        *,
        name: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch_tokens: int = 8192,
        licence: str = "",
    ) -> None:
        outputs = int(checkpoint.config.num_labels)
        if len(reading.labels) != outputs:
            raise UsageError(
                f"{checkpoint.name!r} has {outputs} outputs, but {len(reading.labels)} labels were given "
                f"({', '.join(reading.labels[:4])}{', ...' * (len(reading.labels) > 4)}).",
                "Use the model that these labels belong to, or a label file with one name per output: "
                "?labels=FILE",
            )
        self.labels = reading.labels
        self.reading = reading
        self.checkpoint = checkpoint
        self.name = name or checkpoint.name
        self.device = resolve_device(device)
        self.dtype = dtype
        self.licence = licence
        self.budget = Budget(batch_tokens, AT_ONCE)
        self._texts = self._truncated = 0
        self._tokenizer = tokenizer_fingerprint(checkpoint.tokenizer)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """Return weights, tokenizer, precision and reading; the path of a folder is not included."""
        return {
            "kind": "text-classification",
            **self._identity,
            "tokenizer": self._tokenizer,
            "dtype": self.dtype,
            **{key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self.reading).items()},
        }

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        """Classify each text (see Classifier.classify). Identical texts are computed once; contexts are not read.

        Errors: `empty_text` for white space, `not_finite` if the model gives NaN or infinity, `out_of_memory` for a
        text that does not fit even alone. Raises ModelError if the weights cannot be loaded.
        """
        distinct = {text: row for row, text in enumerate(dict.fromkeys(t for t in texts if t.strip()))}
        probabilities = np.full((len(distinct), len(self.labels)), np.nan, dtype=np.float32)
        failed: set[int] = set()
        words = list(distinct)
        for start in range(0, len(words), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            failed |= {start + row for row in self._run(words[part], probabilities[part])}
        self._texts += len(distinct)
        rows = np.array([distinct.get(text, -1) for text in texts], dtype=np.int64)
        # empty texts refer to an additional last row of NaN
        scores = np.vstack([probabilities, np.full((1, len(self.labels)), np.nan, dtype=np.float32)])[rows]
        errors: list[ResponseError | None] = [None] * len(rows)
        for position, row in enumerate(rows.tolist()):
            if row < 0:
                errors[position] = ResponseError.EMPTY_TEXT
            elif row in failed:
                errors[position] = ResponseError.OUT_OF_MEMORY
            elif not np.isfinite(scores[position]).all():
                errors[position] = ResponseError.NOT_FINITE
                scores[position] = np.nan
        return read_probabilities(scores, errors, self.reading)

    def describe(self) -> dict[str, Any]:
        """Return the name, revision, labels, threshold, device, and the work so far (texts counted once)."""
        identity = self._identity
        return {
            "name": self.name,
            "model": self.checkpoint.name,
            "revision": identity["revision"],
            "licence": self.licence,
            "labels": list(self.labels),
            "negative": list(self.reading.negative),
            "threshold": self.reading.threshold,
            "multi_label": self.reading.multi_label,
            "maximum_tokens": self.reading.maximum_tokens,
            "weights": "pickle" if self.checkpoint.is_pickled else "safetensors",
            "device": str(self.device),
            "dtype": self.dtype,
            "texts": self._texts,
            "truncated": self._truncated,
            "calls": self.budget.batches,
            "tokens_run": self.budget.tokens_run,
            "halvings": list(self.budget.halvings),
        }

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """Return the commit on the hub, or a hash of the folder's weights."""
        checkpoint = self.checkpoint
        if checkpoint.commit is not None:
            return {"name": checkpoint.name, "revision": checkpoint.commit}
        weights = folder_fingerprint(checkpoint.folder, pickles=True, sizes=False)
        return {"name": checkpoint.config.model_type, "revision": weights}

    @cached_property
    def _model(self) -> Any:
        import torch

        dtype = getattr(torch, self.dtype)
        model = load_weights(self.checkpoint, "AutoModelForSequenceClassification", dtype).to(self.device)
        if model.config.get_text_config().pad_token_id is None:
            # decoders read the last token that is not padding; without a padding token, batches are not padded, and no
            # token may be mistaken for padding, not even an end token at the end of a text
            model.config.get_text_config().pad_token_id = -1
        return model

    def _pads(self) -> bool:
        """Return whether texts of different lengths may share a batch without a change of their results."""
        takes_mask = "attention_mask" in inspect.signature(self._model.forward).parameters
        padding = self.checkpoint.tokenizer.pad_token_id
        same = padding is not None and padding == self._model.config.get_text_config().pad_token_id
        return takes_mask and same

    def _run(self, texts: list[str], into: Floats) -> list[int]:
        """Fill in the probabilities of some distinct texts, and return those that do not fit in memory."""
        import torch

        model, tokenizer, pads = self._model, self.checkpoint.tokenizer, self._pads()
        encoded = self._encode_texts(texts)
        lengths = np.array([len(ids) for ids in encoded["input_ids"]], dtype=np.int64)
        filling = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id}

        def run(rows: NDArray[np.int64]) -> None:
            width = int(lengths[rows].max())
            batch = {
                key: torch.tensor(
                    [values[row] + [filling.get(key, 0)] * (width - int(lengths[row])) for row in rows],
                    device=self.device,
                )
                for key, values in encoded.items()
            }
            with torch.no_grad():
                logits = model(**batch).logits.float()
            probabilities = logits.sigmoid() if self.reading.multi_label else logits.softmax(dim=-1)
            into[rows] = probabilities.cpu().numpy()

        self.budget.equal_lengths = not pads
        return run_batches(lengths, np.ones_like(lengths), self.budget, run)

    def _encode_texts(self, texts: list[str]) -> dict[str, list[list[int]]]:
        tokenizer, limit = self.checkpoint.tokenizer, self.reading.maximum_tokens
        if limit is None:
            return dict(tokenizer(texts))
        # one token more than the maximum shows which texts are cut, without encoding them completely
        encoded = dict(tokenizer(texts, truncation=True, max_length=limit + 1))
        long = [row for row, ids in enumerate(encoded["input_ids"]) if len(ids) > limit]
        if long:
            cut = tokenizer([texts[row] for row in long], truncation=True, max_length=limit)
            for key, values in cut.items():
                for row, value in zip(long, values, strict=True):
                    encoded[key][row] = value
            self._truncated += len(long)
        return encoded


def read_probabilities(scores: Floats, errors: list[ResponseError | None], reading: LabelReading) -> Labels:
    """Return labels from probabilities.

    scores: (n, k) probabilities, NaN in rows with an error. errors: n codes. The score is the probability of the
    harmful labels. This is their sum if all labels share one distribution, and the largest if each has a separate
    probability. In the second case there is no single label.

    >>> reading = LabelReading(("neutral", "toxic"), negative=("toxic",))
    >>> said = read_probabilities(np.array([[0.4, 0.6]], dtype=np.float32), [None], reading)
    >>> said.labels, round(float(said.score[0]), 3), said.negative
    (['toxic'], 0.6, [True])
    """
    good = np.array([error is None for error in errors], dtype=bool)
    harmful = [reading.labels.index(name) for name in reading.negative]
    score = np.full(len(errors), np.nan)
    if harmful:
        picked = scores[good][:, harmful].astype(np.float64)
        score[good] = picked.max(axis=1) if reading.multi_label else picked.sum(axis=1)
    likeliest = np.where(good, np.nan_to_num(scores, nan=-1.0).argmax(axis=1), -1)
    verdict = np.isin(likeliest, harmful) if reading.threshold is None else score >= reading.threshold
    named = not reading.multi_label
    return Labels(
        scores=scores,
        labels=[reading.labels[i] if named and i >= 0 else None for i in likeliest.tolist()],
        score=score,
        negative=[bool(v) if harmful and ok else None for v, ok in zip(verdict, good, strict=True)],
        errors=errors,
    )


def longest_text(checkpoint: Checkpoint) -> int | None:
    """Return the maximum number of tokens of a text, including special tokens; None without a limit."""
    config, tokenizer = checkpoint.config, checkpoint.tokenizer
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions is not None and config.model_type in OFFSET_POSITIONS:
        positions -= (config.pad_token_id if config.pad_token_id is not None else 1) + 1
    stated = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    return min((int(limit) for limit in (positions, stated) if limit), default=None)
