"""Sample the next token of many continuations at a time: temperature, top-k, top-p, and one random number per row."""

import torch

from evenhand.models.decoding import Decoding

NUCLEUS = 1024  # number of most likely tokens that top-p considers before it sorts the whole vocabulary
BELOW_ONE = 1 - 2.0**-40  # so that rounding never makes a random number reach the total probability


def filter_logits(logits: torch.Tensor, decoding: Decoding) -> torch.Tensor:
    """Return logits after temperature, top-k and top-p, in this order; minus infinity for excluded tokens.

    logits: (rows, vocabulary), in 32 bits. Tokens with exactly the probability of the k-th are kept, and at least one
    token always is. Source: Holtzman et al. 2020 for top-p; both filters equal Hugging Face's.

    >>> rule = Decoding(max_new_tokens=1, temperature=1.0, top_k=1)
    >>> filter_logits(torch.tensor([[0.0, 2.0]]), rule).tolist()
    [[-inf, 2.0]]
    """
    assert decoding.temperature is not None, "greedy decoding filters nothing"
    scores = logits / decoding.temperature
    if decoding.top_k is not None:
        least = scores.topk(min(decoding.top_k, scores.shape[-1])).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if decoding.top_p is not None and decoding.top_p < 1:
        ascending, order = scores.sort()
        tail = ascending.softmax(-1).cumsum(-1) <= 1 - decoding.top_p
        tail[:, -1] = False
        scores = scores.masked_fill(torch.zeros_like(tail).scatter(1, order, tail), -torch.inf)
    return scores


def sample_tokens(logits: torch.Tensor, decoding: Decoding, uniforms: torch.Tensor) -> torch.Tensor:
    """Return one token per row from the filtered distribution; faster than `draw(filter_logits(logits, decoding),
    uniforms)`.

    Only the most likely tokens are used if they are sufficient: the k most likely, or those with the share p. Other
    rows (ties at the k-th token, more than 1,024 tokens within top-p) are filtered in full. uniforms: (rows,) float64.
    Returns (rows,) token ids.

    >>> rule = Decoding(max_new_tokens=1, temperature=1.0, top_k=1)
    >>> sample_tokens(torch.tensor([[0.0, 2.0, 1.0]]), rule, torch.tensor([0.5]).double()).tolist()
    [1]
    """
    assert decoding.temperature is not None, "greedy decoding draws nothing"
    vocabulary = logits.shape[-1]
    nucleus = decoding.top_p if decoding.top_p is not None and decoding.top_p < 1 else None
    count = NUCLEUS if decoding.top_k is None else decoding.top_k + 1
    if (decoding.top_k is None and nucleus is None) or count >= vocabulary // 2:
        return draw(filter_logits(logits, decoding), uniforms)
    scores, ids = logits.topk(count)
    scores = scores / decoding.temperature
    if decoding.top_k is not None:
        settled = scores[:, -1] < scores[:, -2]
        scores, ids = scores[:, :-1], ids[:, :-1]
        norm = scores.logsumexp(-1, keepdim=True)
    else:
        norm = (logits / decoding.temperature).logsumexp(-1, keepdim=True)
    if nucleus is not None:
        mass = (scores - norm).exp().cumsum(-1)
        if decoding.top_k is None:
            settled = mass[:, -1] > nucleus
        beyond = mass >= nucleus
        # keep a token if the more likely tokens sum to less than p
        scores = scores.masked_fill(beyond.roll(1, -1).index_fill_(1, ids.new_zeros(1), False), -torch.inf)
    ids, order = ids.sort()
    places = draw(scores.gather(1, order), uniforms)
    tokens = ids.gather(1, places[:, None])[:, 0]
    if not settled.all():
        rest = (~settled).nonzero()[:, 0]
        tokens[rest] = draw(filter_logits(logits[rest], decoding), uniforms[rest.to(uniforms.device)])
    return tokens


def draw(scores: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Return one token per row, by inverting the distribution function at the row's uniform random number.

    scores: (rows, vocabulary) logits. uniforms: (rows,) float64 in [0, 1). Returns (rows,) token ids. Probabilities are
    added in the order of token ids, not of size. Rounding in another batch can therefore change the token only if the
    random number is at the boundary between two tokens.

    >>> draw(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([0.2, 0.7]).double()).tolist()
    [0, 1]
    """
    probabilities = scores.softmax(-1)
    if probabilities.device.type == "mps":  # knows no float64
        probabilities = probabilities.cpu()
    mass = probabilities.double().cumsum(-1)
    points = uniforms.to(mass.device).clamp(max=BELOW_ONE)[:, None] * mass[:, -1:]
    tokens = torch.searchsorted(mass, points, right=True)[:, 0]
    return tokens.clamp(max=scores.shape[-1] - 1).to(scores.device)
