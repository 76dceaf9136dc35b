"""Convert samples of lm-evaluation-harness (`--log_samples`) to rows of a user's table."""

from collections.abc import Mapping, Sequence
from typing import Any

SAMPLE = frozenset({"doc_id", "doc", "resps"})
"""Keys of every line that lm_eval writes."""


def are_samples(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rows of a JSON Lines file are lm_eval's.

    >>> are_samples([{"doc_id": 0, "doc": {}, "resps": [[" a cook."]]}]), are_samples([{"text": "Hi."}])
    (True, False)
    """
    return bool(rows) and rows[0].keys() >= SAMPLE and isinstance(rows[0]["doc"], dict)


def rows_of_samples(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per response: the document's columns, `prompt_id`, `sample`, and `continuation` or
    `log_likelihood`.

    rows: lines of one file. Responses that several filters process are used once, unfiltered. `text` is the prompt: the
    document's own, or the one that lm_eval sent. Raises ValueError, with the line, for a task with several requests per
    document, because the options of multiple choice are not responses to a prompt.

    >>> rows_of_samples([{"doc_id": 7, "doc": {"group": "women"}, "resps": [[" a cook.", " well."]],
    ...                   "arguments": {"gen_args_0": {"arg_0": "She is"}}}])[1]
    {'group': 'women', 'prompt_id': '7', 'text': 'She is', 'sample': 1, 'continuation': ' well.'}
    """
    first = rows[0].get("filter")
    found = []
    for number, row in enumerate(rows, 1):
        if row.get("filter") != first:
            continue
        asked = row["resps"]
        if not row.keys() >= SAMPLE or not isinstance(asked, list) or not isinstance(row["doc"], dict):
            raise ValueError(f"line {number} is not a sample of lm_eval, unlike the first line")
        if len(asked) != 1:
            raise ValueError(
                f"line {number} contains responses to {len(asked)} requests about one document, as in "
                "multiple-choice tasks; expected one request per document"
            )
        about = {"prompt_id": str(row["doc_id"]), "text": _prompt_text(row), **row["doc"]}
        kept = {**row["doc"], **{name: about[name] for name in ("prompt_id", "text")}}
        for sample, answer in enumerate(asked[0] if isinstance(asked[0], list) else asked):
            if isinstance(answer, list):  # a likelihood, and whether it is that of the most likely tokens
                found.append({**kept, "log_likelihood": float(answer[0])})
            else:
                found.append({**kept, "sample": sample, "continuation": str(answer)})
    return found


def _prompt_text(row: Mapping[str, Any]) -> str:
    given = row.get("arguments")
    first = next(iter(given.values()), None) if isinstance(given, dict) else None
    return str(first.get("arg_0", "")) if isinstance(first, dict) else ""
