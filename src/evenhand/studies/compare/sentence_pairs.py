"""Convert likelihoods of sentence pairs from other programs to the tables of evenhand's runs of the same benchmark."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

CROWS_PAIRS = "crows-pairs"
DIRECTIONS = ("stereo", "antistereo")


def crows_pairs_scores(lines: Sequence[Mapping[str, Any]]) -> pl.DataFrame | None:
    """Return the CrowS-Pairs results of lm_eval, two rows per pair; None if samples are not such pairs or incomplete.

    Each bias type is an axis. `lines` are samples whose `doc` has sent_more, sent_less, bias_type and stereo_antistereo
    ("stereo" or "antistereo"), and whose `resps` are the log-likelihoods of both sentences, that of sent_more first.

    References
    ----------
    - lm_eval/tasks/crows_pairs (doc_to_choice).

    Examples
    --------
    >>> doc = {"sent_more": "A.", "sent_less": "B.", "bias_type": "age", "stereo_antistereo": "stereo"}
    >>> line = {"doc_id": 0, "doc": doc, "resps": [[["-1.5", "False"]], [["-2.0", "False"]]]}
    >>> crows_pairs_scores([line]).select("prompt_id", "axis", "log_likelihood").rows()
    [('0-more', 'age', -1.5), ('0-less', 'age', -2.0)]
    """
    rows: list[dict[str, Any]] = []
    for line in lines:
        doc = line.get("doc")
        if not isinstance(doc, Mapping) or doc.get("stereo_antistereo") not in DIRECTIONS:
            return None
        sentences = [doc.get("sent_more"), doc.get("sent_less")]
        found = [_log_likelihood(given) for given in line.get("resps") or ()]
        if len(found) != 2 or None in found or not all(isinstance(text, str) for text in sentences):
            return None
        shared = {
            "pair_id": str(line["doc_id"]),
            "axis": str(doc.get("bias_type")),
            "bias_type": str(doc.get("bias_type")),
            "direction": doc["stereo_antistereo"],
            "sent_more": sentences[0],
            "sent_less": sentences[1],
        }
        rows += [
            {
                "prompt_id": f"{line['doc_id']}-{role}",
                "text": text,
                "role": role,
                "log_likelihood": value,
                **shared,
            }
            for role, text, value in zip(("more", "less"), sentences, found, strict=True)
        ]
    return pl.DataFrame(rows) if rows else None


def _log_likelihood(given: Any) -> float | None:
    """Return the log-likelihood of a response such as [["-12.5", "False"]]; lm_eval writes numbers as text."""
    while isinstance(given, list | tuple) and given:
        given = given[0]
    try:
        return float(given)
    except (TypeError, ValueError):
        return None
