"""The forward pass of a small GPT-2 in numpy, in 32 bits, with only what the embedded model needs.

Source: Radford et al. 2019. The order of the layers and the names of the tensors are those of `GPT2LMHeadModel` in
transformers. The results are the same except for rounding.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.reference.in_numpy.tokenizer import AGAIN
from evenhand.schema import DataError, read_json

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Past = list[tuple[Floats, Floats]]
"""Keys and values of each layer, (batch, heads, columns, size of a head)."""
UNSEEN = np.float32(-1e9)  # its exp is 0, and rows that attend to nothing stay finite
FIXED = {
    "model_type": "gpt2",
    "activation_function": "gelu_new",
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
"""Settings of config.json that this forward pass assumes; other values would give other numbers."""


@dataclass(frozen=True)
class Network:
    """A GPT-2: its sizes, and its tensors with their names in model.safetensors."""

    layers: int
    heads: int
    positions: int
    epsilon: float
    tensors: dict[str, Floats]

    @classmethod
    def load(cls, folder: Path) -> "Network":
        """Read config.json and model.safetensors. Raise DataError for another kind of network.

        >>> from evenhand.reference.embedded import WEIGHTS
        >>> network = Network.load(WEIGHTS)
        >>> network.vocabulary == len(network.embedding)
        True
        """
        from safetensors.numpy import load_file

        config = read_json(folder / "config.json", AGAIN)
        for name, value in FIXED.items():
            if config.get(name, value) != value:
                raise DataError(
                    f"{folder / 'config.json'}: {name}={config[name]!r} is not supported without torch, only "
                    f"{value!r}.",
                    'Install torch and transformers: pip install "evenhand[hf]"',
                )
        stored = load_file(folder / "model.safetensors")
        tensors = {
            name.removeprefix("transformer."): np.ascontiguousarray(tensor, dtype=np.float32)
            for name, tensor in stored.items()
        }
        return cls(
            config["n_layer"], config["n_head"], config["n_positions"], config["layer_norm_epsilon"], tensors
        )

    @property
    def embedding(self) -> Floats:
        """Return the embeddings of tokens, which are also the output head, (vocabulary, width)."""
        return self.tensors["wte.weight"]

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens that are read and predicted."""
        return len(self.embedding)

    @property
    def parameters(self) -> int:
        """Return the number of parameters."""
        return sum(tensor.size for tensor in self.tensors.values())

    def hidden(
        self, tokens: Ints, places: Ints, sees: Flags, past: Past | None = None
    ) -> tuple[Floats, Past]:
        """Return the last hidden states, (batch, columns, width), and keys and values of all columns so far.

        tokens, places: (batch, columns), token ids and their positions. sees: (batch, columns, past columns + columns),
        the columns to which each may attend. past: keys and values of earlier columns; none at first.
        """
        bias = np.where(sees, np.float32(0), UNSEEN)[:, None]
        state = self.embedding[tokens] + self.tensors["wpe.weight"][places]
        kept: Past = []
        for layer in range(self.layers):
            name = f"h.{layer}."
            before = None if past is None else past[layer]
            mixed, of_layer = self._attention(name, self._layer_norm(name + "ln_1", state), bias, before)
            kept.append(of_layer)
            state += mixed
            inner = self._linear(name + "mlp.c_fc", self._layer_norm(name + "ln_2", state))
            state += self._linear(name + "mlp.c_proj", gelu(inner))
        return self._layer_norm("ln_f", state), kept

    def logits(self, hidden: Floats) -> Floats:
        """Return the logits (rows, vocabulary) of hidden states (rows, width)."""
        return hidden @ self.embedding.T

    def _attention(
        self, name: str, state: Floats, bias: Floats, before: tuple[Floats, Floats] | None
    ) -> tuple[Floats, tuple[Floats, Floats]]:
        batch, columns, width = state.shape
        size = width // self.heads
        joined = self._linear(name + "attn.c_attn", state).reshape(batch, columns, 3, self.heads, size)
        query, key, value = joined.transpose(2, 0, 3, 1, 4)
        if before is not None:
            key, value = (np.concatenate(pair, axis=2) for pair in zip(before, (key, value), strict=True))
        weights = (query * np.float32(1 / math.sqrt(size))) @ key.swapaxes(2, 3)
        weights += bias
        weights -= weights.max(-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(-1, keepdims=True)
        mixed = (weights @ value).transpose(0, 2, 1, 3).reshape(batch, columns, width)
        return self._linear(name + "attn.c_proj", mixed), (key, value)

    def _linear(self, name: str, state: Floats) -> Floats:
        out = state.reshape(-1, state.shape[-1]) @ self.tensors[name + ".weight"]
        out += self.tensors[name + ".bias"]
        reshaped: Floats = out.reshape(*state.shape[:-1], -1)
        return reshaped

    def _layer_norm(self, name: str, state: Floats) -> Floats:
        centred = state - state.mean(-1, keepdims=True)
        variance = np.einsum("...i,...i->...", centred, centred)[..., None] / np.float32(state.shape[-1])
        centred *= self.tensors[name + ".weight"] / np.sqrt(variance + np.float32(self.epsilon))
        normed: Floats = centred + self.tensors[name + ".bias"]
        return normed


def gelu(values: Floats) -> Floats:
    """Compute x Φ(x) by its tanh approximation ("gelu_new"), in place. Source: Hendrycks and Gimpel 2016, section 2.

    >>> gelu(np.array([0.0, 9.0], dtype=np.float32)).tolist()
    [0.0, 9.0]
    """
    inner = values * values
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= values
    inner *= np.float32(math.sqrt(2 / math.pi))
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= np.float32(0.5)
    values *= inner
    return values


def log_normaliser(logits: Floats) -> Floats:
    """Return log Σ exp over the last of two dimensions, (rows,), without changing the logits.

    >>> log_normaliser(np.zeros((1, 4), dtype=np.float32)).astype(float).round(4).tolist()
    [1.3863]
    """
    highest = logits.max(-1, keepdims=True)
    spread = logits - highest
    np.exp(spread, out=spread)
    total: Floats = np.log(spread.sum(-1)) + highest[:, 0]
    return total
