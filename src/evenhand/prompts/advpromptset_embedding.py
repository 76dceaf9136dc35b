"""Any sentence-embedding model from a Hugging Face folder or the hub: texts in, one vector each out."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.prompts.advpromptset_modules import HINT, dense_layer, pool, read_modules
from evenhand.schema import ModelError
from evenhand.schema.files import sha256_of
from evenhand.weights.devices import resolve_device
from evenhand.weights.hub import quiet_transformers

Vectors = NDArray[np.float32]
TOKENS_AT_ONCE = 16_384
FEWEST_LONGEST = (
    512  # tokens read where neither the tokenizer nor the folder says how many the model can read
)
NO_LIMIT = 1_000_000  # tokenizers without a maximum state a number far above this
FETCHED = ("*.json", "*.txt", "*.model", "model*.safetensors", "*/config.json", "*/model.safetensors")


class SentenceEmbedding:
    """An encoder whose token vectors are pooled into one vector a text, as its own folder says.

    name: a folder or a hub name. device: "auto", "cpu", "cuda", ... Pooling, dense layers, normalisation and the
    default prompt are read from modules.json and what it names; a plain folder is pooled by the mean over its
    tokens. Files are looked for at once, weights (safetensors only) loaded at the first `encode`. Raises
    ModelError for what is missing or damaged, Unsupported for modules of other kinds.
    Source: Reimers & Gurevych 2019, section 3; the format is that of the sentence-transformers library.
    """

    def __init__(self, name: str, device: str = "auto"):
        self.name, self.device = name, device
        self.folder = _folder(name)
        self.modules = read_modules(self.folder)

    @cached_property
    def fingerprint(self) -> str:
        """32 hex characters of all that the vectors depend on: every setting and every weight."""
        digest = hashlib.sha256()
        patterns = ("*.json", "*.txt", "*.model", "*.safetensors")
        for path in sorted(path for pattern in patterns for path in self.folder.rglob(pattern)):
            digest.update(f"{path.relative_to(self.folder)} {sha256_of(path)}\n".encode())
        return digest.hexdigest()[:32]

    def encode(self, texts: Sequence[str], told: Callable[[int, int], None] | None = None) -> Vectors:
        """One vector a text, float32, shape (n, dimensions), not changed in length unless the model does so.

        texts: any; longer ones than the model can read are cut at the end. told: hears how many are done, of how
        many. Batches are filled with texts of about the same length; the vectors do not depend on that beyond
        rounding.
        """
        import torch

        tokenizer, model, dense = self._loaded
        read = [self.modules.prompt + (text.lower() if self.modules.lower_case else text) for text in texts]
        if not read:
            return np.zeros((0, 0), dtype=np.float32)
        ids = tokenizer(read, truncation=True, max_length=self._longest)["input_ids"]
        unpooled = 0 if self.modules.prompt_pooled else self._prompt_tokens
        order = np.argsort([-len(row) for row in ids], kind="stable")
        vectors: list[Any] = [None] * len(read)
        done = 0
        while done < len(order):
            longest = max(1, len(ids[order[done]]))
            rows = order[done : done + max(1, TOKENS_AT_ONCE // longest)]
            batch = tokenizer.pad({"input_ids": [ids[row] for row in rows]}, return_tensors="pt").to(
                model.device
            )
            with torch.inference_mode():
                hidden = model(**batch).last_hidden_state.float()
                pooled = pool(hidden, batch["attention_mask"], self.modules.poolings, unpooled)
                for layer in dense:
                    pooled = layer(pooled)
                if self.modules.normalised:
                    pooled = torch.nn.functional.normalize(pooled, dim=1)
            for row, vector in zip(rows, pooled.cpu().numpy(), strict=True):
                vectors[row] = vector
            done += len(rows)
            if told:
                told(done, len(read))
        return np.stack(vectors).astype(np.float32)

    @cached_property
    def _longest(self) -> int:
        tokenizer, model, _ = self._loaded
        if self.modules.longest is not None:
            return self.modules.longest
        if tokenizer.model_max_length < NO_LIMIT:
            return int(tokenizer.model_max_length)
        positions = getattr(model.config, "max_position_embeddings", None)
        return min(FEWEST_LONGEST, positions or FEWEST_LONGEST)

    @cached_property
    def _prompt_tokens(self) -> int:
        """Tokens of the prompt, with those before it and without the one that ends a text."""
        ids = self._loaded[0](self.modules.prompt)["input_ids"] if self.modules.prompt else []
        ends = {self._loaded[0].sep_token_id, self._loaded[0].eos_token_id}
        return len(ids) - int(bool(ids) and ids[-1] in ends)

    @cached_property
    def _loaded(self) -> tuple[Any, Any, list[Any]]:
        import torch
        from safetensors import SafetensorError
        from transformers import AutoModel, AutoTokenizer

        where = str(self.modules.transformer)
        try:
            with quiet_transformers():
                tokenizer = AutoTokenizer.from_pretrained(where, trust_remote_code=False)
                model, report = AutoModel.from_pretrained(
                    where,
                    use_safetensors=True,
                    trust_remote_code=False,
                    dtype=torch.float32,
                    output_loading_info=True,
                )
                dense = [dense_layer(folder) for folder in self.modules.dense]
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            lines = str(error).strip().splitlines() or ["no message"]
            raise ModelError(
                f"The embedding model {self.name!r} cannot be loaded: {lines[0]}", HINT
            ) from error
        # the pooler is a head of its own, which sentence vectors do not use
        if lacking := sorted(key for key in report["missing_keys"] if not key.startswith("pooler.")):
            raise ModelError(
                f"{len(lacking)} tensors are not in the weights of {self.name!r} ({lacking[0]}, ...); they would "
                "be random numbers.",
                "Save the model again from the class that was trained.",
            )
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        device = resolve_device(self.device)
        return tokenizer, model.eval().requires_grad_(False).to(device), [layer.to(device) for layer in dense]


def _folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_file() or name.startswith((".", "/", "~")):
        raise ModelError(f"There is no embedding-model folder {name!r}.", HINT)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(FETCHED)))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"The embedding model {name!r} is not on this machine and could not be fetched: "
            f"{str(error).strip().splitlines()[0]}",
            HINT,
        ) from error
