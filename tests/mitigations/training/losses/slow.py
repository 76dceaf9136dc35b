"""The formulas of RedditBias and of its published code, loop by loop, as slowly as they read.

Source of the paper's: section 4. Of the code's: the published code itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

Tokens = Sequence[int]
Pairs = Sequence[tuple[Tokens, Tokens]]


def states(model: Any, ids: Tokens) -> Tensor:
    """The final states of one text, read by itself: (tokens, size)."""
    hidden: Tensor = model.transformer(torch.tensor([list(ids)])).last_hidden_state[0]
    return hidden


def surprise(model: Any, texts: Sequence[Tokens]) -> tuple[Tensor, int]:
    """Of all tokens but each first one, summed; and how many there are."""
    total, count = torch.zeros(()), 0
    for ids in texts:
        log_probs = model(torch.tensor([list(ids)])).logits[0].log_softmax(-1)
        for i in range(1, len(ids)):
            total, count = total - log_probs[i - 1, ids[i]], count + 1
    return total, count


def vector(weight: Tensor, tokens: Tokens) -> Tensor:
    """The output vector of a term: the mean of its pieces' (footnote 12)."""
    return sum((weight[token] for token in tokens), torch.zeros(weight.shape[1])) / len(tokens)


def places(ids: Tokens, term: Tokens) -> list[int]:
    """Where the tokens of a term stand one behind the other."""
    return [i for i in range(len(ids) - len(term) + 1) if list(ids[i : i + len(term)]) == list(term)]


def lmd(model: Any, texts: Sequence[Tokens], pairs: Pairs) -> tuple[Tensor, int]:
    """Equation 1 at every occurrence of a term behind another token, summed; and how many there are."""
    weight = model.lm_head.weight
    terms = list(dict.fromkeys(tuple(term) for pair in pairs for term in pair))
    total, count = torch.zeros(()), 0
    for ids in texts:
        hidden = states(model, ids)
        for t in terms:
            for i in places(ids, t):
                if i == 0:
                    continue
                scores = torch.stack([hidden[i - 1] @ vector(weight, term) for term in terms])
                y = dict(zip(terms, scores.softmax(0), strict=True))  # of the reduced vocabulary
                mine = [(tuple(a), tuple(b)) for a, b in pairs if t in (tuple(a), tuple(b))]
                total = total + sum((y[a] / y[b]).log().abs() for a, b in mine) / len(mine)
                count += 1
    return total, count


def lmd_as_published(
    model: Any, texts: Sequence[Tokens], pairs: Sequence[tuple[int, int]], padding: int
) -> Tensor:
    """EqualisingLoss of the code: over the non-pad positions of every sentence that holds a T1, over |P|."""
    weight, total = model.lm_head.weight.detach(), torch.zeros(())
    for ids in texts:
        hidden = states(model, ids)
        for first, second in pairs:
            if first not in ids:
                continue
            found = torch.zeros(())
            for i, token in enumerate(ids):
                if token in (padding, 0):  # "!" counts as padding
                    continue
                two = torch.stack([hidden[i] @ weight[first], hidden[i] @ weight[second]]).softmax(0)
                found = found + (two[0] / two[1]).log().abs()
            total = total + found / sum(token != padding for token in ids)
    return total / len(pairs)


def attribute_vectors(model: Any, texts: Sequence[Tokens], attributes: Sequence[Tokens]) -> list[Tensor]:
    """The mean state of every occurrence of an attribute."""
    return [
        states(model, ids)[i : i + len(attribute)].mean(0)
        for ids in texts
        for attribute in attributes
        for i in places(ids, attribute)
    ]


def add(found: Sequence[Tensor], weight: Tensor, pairs: Pairs) -> Tensor:
    """Equation 3, summed over attributes."""
    total = torch.zeros(())
    for a in found:
        for first, second in pairs:
            t1, t2 = vector(weight, first), vector(weight, second)
            total = total + (cosine_similarity(t1, a, dim=0) - cosine_similarity(t2, a, dim=0)).abs()
    return total


def subspace(weight: Tensor, pairs: Pairs, enough: Callable[[float], bool]) -> list[Tensor]:
    """The first right singular vectors of the halved differences, until `enough` is explained."""
    differences = torch.stack([(vector(weight, a) - vector(weight, b)) / 2 for a, b in pairs])
    _, values, rows = torch.linalg.svd(differences.detach())
    explained, directions = 0.0, []
    for value, row in zip(values, rows, strict=False):
        explained += float(value**2 / values.square().sum())
        directions.append(row)
        if enough(explained):
            break
    return directions


def hd(found: Sequence[Tensor], directions: Sequence[Tensor]) -> Tensor:
    """Equation 4, summed over attributes: |.| is the sum of absolute components."""
    total = torch.zeros(())
    for a in found:
        for b in directions:
            total = total + (b * (a @ b)).abs().sum()
    return total


def matches_as_published(
    model: Any, texts: Sequence[Tokens], attributes: Sequence[Tokens], padding: int
) -> list[Tensor | None]:
    """Return what each match of the released loops gives: a vector, or None for the zero vector of a failed match.

    The loops slice rows that are padded to the longest text. A slice past the end of the longest text is shorter.
    """
    widest, longest, found = max(map(len, attributes)), max(map(len, texts)), []
    for ids in texts:
        hidden = states(model, ids)
        padded = [*ids, *([padding] * (longest - len(ids)))]
        for i, token in enumerate(ids):
            for attribute in attributes:
                listed = [*attribute, *([0] * (widest - len(attribute)))]  # 0 is "!"
                if token not in listed:
                    continue
                n = len(attribute)
                if all(one in listed for one in padded[i : i + n]):
                    found.append(hidden[i : i + n].mean(0))
                else:
                    found.append(None)
    return found


def hd_as_published(found: Sequence[Tensor | None], directions: Sequence[Tensor]) -> Tensor:
    """HardDe of the code: the projection is never set back, and each match pays its norm."""
    running, total = torch.zeros_like(directions[0]), torch.zeros(())
    for vector_found in found:
        for b in directions:
            if vector_found is not None:
                running = running + (vector_found @ b) * b
        total = total + running.abs().sum()
    return total
