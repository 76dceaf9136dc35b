"""Candidates for a trigger evaluated per second, the plain way and ours, side by side in one run.

    python perf/triggers.py --data ../shared/data/wikitext2/test.txt     # About 3 minutes on one core.
    python perf/triggers.py --data FILE --device cuda --candidates 100

The plain way is the published one: for each candidate the whole batch goes through the model, padded, with logits at
every position, candidate after candidate. Ours: all candidates together over their prefix tree, the output head only
where a continuation is scored; once with every candidate on all examples (the same numbers), once screened as the
search does by default: all candidates on a quarter of the examples, the best quarter on the others. Same
GPT-2-small-shaped model with random weights, same trigger of six tokens changed in its third place, same examples:
two groups, ten contexts of Sheng et al. 2020, continuations of 5 to 30 words cut from any text file (--data), each
with both groups, batches of 32 as published for processors. Only ratios mean anything: absolute times are of this
machine, this hour. With OMP_NUM_THREADS=1 processor time is counted.
"""

import argparse
import json
import os
import platform
import re
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it; the same for every way
import torch
from common import model_with_tokenizer

SHAPE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
GROUPS = ("The man", "The woman")
CONTEXTS = (
    "was known for",
    "was described as",
    "was regarded as",
    "was thought of as",
    "was well-known for",
    "worked as",
    "had a job as",
    "had a part-time job as",
    "earned money by",
    "started working as",
)
BATCH, PLACE = 32, 2


def examples_from(text: str, lines: int):
    from evenhand.mitigations.triggers.examples import Example

    draw = np.random.default_rng(0)
    words = re.findall(r"[A-Za-z,]+", text)
    made = []
    for line in range(lines):
        first, length = int(draw.integers(len(words) - 30)), int(draw.integers(5, 31))
        said = " " + " ".join(words[first : first + length]) + "."
        label = ("negative", "neutral", "positive")[line % 3]
        made += [Example(f"{group} {CONTEXTS[line % 10]}", said, group, label) for group in GROUPS]
    return made


def plain_losses(evaluator, triggers):
    """One candidate at a time: padded batches, logits everywhere, cross-entropy over the continuation."""
    model, device = evaluator.model.model, evaluator.device
    encoded, lead, losses = evaluator.encoded, len(triggers[0]), []
    for trigger in triggers:
        nll = np.zeros(len(encoded.ids))
        for first in range(0, len(encoded.ids), BATCH):
            part = range(first, min(first + BATCH, len(encoded.ids)))
            width = lead + max(len(encoded.ids[i]) for i in part)
            ids = torch.zeros(len(part), width, dtype=torch.long)
            seen, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
            for row, i in enumerate(part):
                told = torch.tensor([*trigger, *encoded.ids[i].tolist()])
                ids[row, : len(told)], seen[row, : len(told)] = told, 1
                own = torch.from_numpy(np.flatnonzero(encoded.scored[i]) + lead)
                labels[row, own] = told[own]
            ids, seen, labels = ids.to(device), seen.to(device), labels.to(device)
            with torch.inference_mode():
                logits = model(input_ids=ids, attention_mask=seen).logits
                each = torch.nn.functional.cross_entropy(
                    logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="none"
                ).reshape(len(part), -1)
            nll[first : first + len(part)] = (each.sum(1) / (labels[:, 1:] >= 0).sum(1)).cpu().numpy()
        losses.append(float(evaluator.terms.losses(nll[None])[0]))
    return np.array(losses)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="any English text file")
    parser.add_argument("--lines", type=int, default=24, help="continuations, each with both groups")
    parser.add_argument("--candidates", type=int, default=32)
    parser.add_argument("--plain", type=int, default=3, help="number of candidates for the plain way")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "triggers.json")
    given = parser.parse_args()
    from evenhand.mitigations.triggers.evaluation import Evaluator
    from evenhand.mitigations.triggers.objective import Objective
    from evenhand.mitigations.triggers.search import (
        TriggerSearchOptions,
        evaluated_candidates,
        screen_examples,
    )
    from evenhand.models.huggingface.causal import CausalModel

    text = given.data.read_text(encoding="utf-8")
    model, tokenizer = model_with_tokenizer([text], **SHAPE)
    causal = CausalModel(model.to(given.device).requires_grad_(False), tokenizer, {"name": "perf"})
    examples = examples_from(text, given.lines)
    start = tuple(tokenizer.encode(" the" * 6, add_special_tokens=False))
    evaluator = Evaluator(causal, examples, Objective(), trigger=start)
    tokens = np.random.default_rng(1).choice(len(tokenizer), given.candidates, replace=False)
    triggers = [(*start[:PLACE], int(token), *start[PLACE + 1 :]) for token in tokens]
    options = TriggerSearchOptions()
    parts = screen_examples(evaluator.examples, options)
    ways = {
        "plain loop": (lambda: plain_losses(evaluator, triggers[: given.plain]), given.plain),
        "evenhand, all on all": (lambda: evaluator.losses(triggers), len(triggers)),
        "evenhand, screened": (
            lambda: evaluated_candidates(evaluator, triggers, options, parts),
            len(triggers),
        ),
    }
    alone = given.device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    evaluator.losses(triggers[:2])  # whatever the first call costs
    plain_losses(evaluator, triggers[:1])
    speeds, found = {}, {}
    for way, (run, count) in ways.items():
        began = clock()
        found[way] = run()
        speeds[way] = count / (clock() - began)
    exact = found["evenhand, all on all"]
    difference = float(np.abs(exact[: given.plain] - found["plain loop"]).max())
    assert difference < 1e-4, difference
    kept = found["evenhand, screened"]
    assert all(abs(loss - exact[triggers.index(trigger)]) < 1e-4 for trigger, loss in kept.items())
    rows = []
    for way, speed in speeds.items():
        ratio = speed / speeds["plain loop"]
        rows.append(
            {"way": way, "candidates_per_second": round(speed, 3), "times_the_plain_loop": round(ratio, 2)}
        )
        print(f"  {way:24s}{speed:9.3f} candidates/s   {ratio:6.2f} x the plain loop", flush=True)
    lengths = evaluator.encoded.tokens
    told = {
        "rows": rows,
        "largest_difference_of_losses": difference,
        "best_survived_screening": bool(min(kept.values()) <= exact.min() + 1e-5),
        "examples": len(evaluator.examples),
        "continuation_tokens": {
            "least": int(lengths.min()),
            "mean": float(lengths.mean()),
            "most": int(lengths.max()),
        },
        "candidates": given.candidates,
        "device": given.device,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "time": "of the process" if alone else "of the clock",
        "torch": torch.__version__,
    }
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(told, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
