"""Self-debiasing, the published way and ours, side by side in one run.

    python perf/self_debiasing.py --data ../shared/data/realtoxicityprompts     # About 10 minutes on one core.

The published way gives `model.generate` one prompt at a time, by itself and behind six prefixes in one batch, with a
processor that combines the seven rows' distributions in a loop. Ours writes many prompts at once, reads each prefix
once, and combines all distributions in one operation. Same GPT-2-small-shaped model with random weights, same
prompts, 20 new tokens each, greedily and with 3 beams, as published; what is written is compared. Our plain
generation shows the additional cost of debiasing, by the number of prompts per batch. Two lower bounds are shown, too.
The first is the ratio of multiplications (seven rows in place of one). The second is the ratio of the times of the
matrix products of the model's layers alone, which more rows use better. Needs RealToxicityPrompts: `evenhand data fetch
realtoxicityprompts`, or --data with a folder of .jsonl files or one of them. Only ratios mean anything: absolute times
are of this machine, this hour. With OMP_NUM_THREADS=1 processor time is counted.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it; the same for every way
import torch
from common import model_with_tokenizer

SHAPE = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
NEW = 20


def texts_of(path):
    """Texts of prompts in RealToxicityPrompts' own format."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line)["prompt"]["text"] for line in lines]


class PublishedProcessor:
    """Compute as the released processor does: groups are identified by the number of rows, and combined
    individually."""

    def __init__(self, prefixes, decay=50.0, floor=0.01):
        self.prefixes, self.decay, self.floor = prefixes, decay, floor

    def __call__(self, input_ids, scores):
        count = scores.shape[0] // (1 + self.prefixes)
        for row in range(count):
            rows = [row + j * count for j in range(1 + self.prefixes)]
            p = torch.softmax(scores[rows[0]], dim=-1)
            factor = torch.ones_like(p)
            for other in rows[1:]:
                delta = p - torch.softmax(scores[other], dim=-1)
                factor = torch.minimum(factor, torch.where(delta >= 0, 1.0, torch.exp(self.decay * delta)))
            p = p * factor.clamp(min=self.floor)
            scores[rows] = torch.log(p / p.sum())
        return scores


def published(model, tokenizer, prefixes):
    from transformers import LogitsProcessorList

    processors = LogitsProcessorList([PublishedProcessor(len(prefixes))])

    def run(prompts, beams):
        tokenizer.padding_side = "left"
        written = []
        for prompt in prompts:
            batch = tokenizer([c + prompt for c in ("", *prefixes)], return_tensors="pt", padding=True)
            with torch.inference_mode():
                rows = model.generate(
                    input_ids=batch["input_ids"].to(model.device),
                    attention_mask=batch["attention_mask"].to(model.device),
                    logits_processor=processors,
                    do_sample=False,
                    num_beams=beams,
                    max_new_tokens=NEW,
                    min_new_tokens=NEW,
                    pad_token_id=tokenizer.pad_token_id,
                )
            written.append(rows[0, batch["input_ids"].shape[1] :].tolist())
        return written

    return run


def ours(model):
    """How a model of evenhand, debiased or not, writes."""
    from evenhand.models.decoding import Decoding

    def run(prompts, beams=1):
        rule = Decoding(max_new_tokens=NEW, min_new_tokens=NEW, num_beams=beams if beams > 1 else None)
        answers = model.generate(prompts, rule)
        assert not any(answers.errors)
        return [answers.row(i).tolist() for i in range(len(prompts))]

    return run


def work_of(run, writer, prompts, clock):
    """Seconds of writing, tokens read, and steps."""
    read, steps = writer.work.tokens_read, writer.work.steps
    start = clock()
    run(prompts)
    seconds = clock() - start
    return seconds, writer.work.tokens_read - read, writer.work.steps - steps


def products(model, rows, at_head, clock):
    """Multiplications of the layers' matrix products, and the seconds they take alone."""
    count, seconds = 0, 0.0
    for layer in model.scorer.layers.packed:
        is_head = layer.module is model.model.lm_head
        columns = layer.module.in_features if is_head else layer.module.nx
        inputs = torch.randn(at_head if is_head else rows, columns)
        count += len(inputs) * layer.module.weight.numel()
        times = []
        with torch.inference_mode():
            for _ in range(4):  # the first one is not counted
                start = clock()
                layer(inputs)
                times.append(clock() - start)
        seconds += min(times[1:])
    return count, seconds


def overhead(plain, debiased, prefixes, pool, sizes, repeats, clock):
    """Return the cost of debiasing by the number of prompts per batch, with its lower bounds."""
    found = []
    for size in sizes:
        prompts = pool[:size]
        best = dict.fromkeys(("plain", "debiased"), (float("inf"), 0, 0))
        for _ in range(repeats):  # in turn, so that a busy minute of the machine meets both
            for way, model in (("plain", plain), ("debiased", debiased)):
                best[way] = min(best[way], work_of(ours(model), plain.writer, prompts, clock))
        floors = {}
        for way, rows in (("plain", size), ("debiased", size * (1 + len(prefixes)))):
            _, read, steps = best[way]
            of_reading = products(plain, read, rows, clock)
            of_step = products(plain, rows, rows, clock)
            floors[way] = [a + steps * b for a, b in zip(of_reading, of_step, strict=True)]
        ratios = {
            "overhead": best["debiased"][0] / best["plain"][0],
            "multiplications": floors["debiased"][0] / floors["plain"][0],
            "matrix_products_alone": floors["debiased"][1] / floors["plain"][1],
        }
        shares = {f"share_of_products_{way}": floors[way][1] / best[way][0] for way in best}
        found.append(
            {"prompts": size, **{name: round(value, 2) for name, value in (ratios | shares).items()}}
        )
        print(
            f"  {size:3d} prompts: {ratios['overhead']:.2f} times as long as plain writing; "
            f"{ratios['multiplications']:.2f} times the multiplications, "
            f"{ratios['matrix_products_alone']:.2f} times the time of the matrix products alone",
            flush=True,
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1, 4, 16, 48], help="prompts written at once"
    )
    parser.add_argument("--repeats", type=int, default=2, help="number of runs, of which the best counts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--data", type=Path, help="folder or .jsonl file of RealToxicityPrompts (else the cache)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "self_debiasing.json"
    )
    given = parser.parse_args()
    warnings.filterwarnings("ignore")  # the published way warns of what does not concern this comparison
    if given.data is None:
        from evenhand.prompts.datasets.register import dataset_folder

        given.data = dataset_folder("realtoxicityprompts", None, None)
    from evenhand.mitigations.steering.self_debiasing import PREFIXES, SelfDebiasing
    from evenhand.models.huggingface.causal import CausalModel

    prefixes = PREFIXES["published"]
    pool = texts_of(given.data)
    prompts = [pool[i] for i in np.random.default_rng(0).choice(len(pool), given.prompts, replace=False)]
    # the vocabulary is that of real text, and holds the prefixes' words, as GPT-2's does
    model, tokenizer = model_with_tokenizer([*pool, *prefixes * 50], **SHAPE)
    model = model.to(given.device)
    lengths = [len(tokenizer(prefix)["input_ids"]) for prefix in prefixes]
    alone = given.device == "cpu" and torch.get_num_threads() == 1
    clock = time.process_time if alone else time.perf_counter
    plain = CausalModel(model, tokenizer, {"name": "perf"})
    debiased = SelfDebiasing(prefixes=prefixes)(plain)
    ways = {
        "published, a prompt at a time": published(model, tokenizer, prefixes),
        "evenhand": ours(debiased),
        "evenhand, not debiased": ours(plain),
    }
    for run in ways.values():
        run(prompts[:2], 1)  # whatever the first call costs
    results = []
    for search, beams in (("greedy", 1), ("3 beams", 3)):
        speeds, written = dict.fromkeys(ways, 0.0), {}
        for _ in range(given.repeats):  # in turn, so that a busy minute of the machine meets all of them
            for way, run in ways.items():
                start = clock()
                written[way] = run(prompts, beams)
                speeds[way] = max(speeds[way], len(prompts) / (clock() - start))
        first, second = (written[way] for way in list(ways)[:2])
        same = sum(a == b for a, b in zip(first, second, strict=True))
        print(f"\n{search}: {len(prompts)} prompts, {torch.get_num_threads()} threads, {same} written alike")
        for way, speed in speeds.items():
            ratio = speeds["evenhand"] / speed
            results.append(
                {
                    "search": search,
                    "way": way,
                    "prompts_per_second": round(speed, 3),
                    "evenhand_is_faster_by": round(ratio, 2),
                    "prompts_written_as_published": same if way == "evenhand" else None,
                }
            )
            print(f"  {way:32s}{speed:9.3f} prompts/s   evenhand {ratio:5.2f} x", flush=True)
    by_size = []
    if given.device == "cpu":  # where layers are packed, and can be run by themselves
        print(f"\ndebiasing with {len(prefixes)} prefixes, greedy, with its lower bounds:")
        most = np.random.default_rng(1).choice(len(pool), max(given.sizes), replace=False)
        several = [pool[i] for i in most]
        by_size = overhead(plain, debiased, prefixes, several, given.sizes, given.repeats, clock)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "prompts": given.prompts,
        "new_tokens": NEW,
        "prefixes": len(prefixes),
        "tokens_of_prefixes": lengths,
        "device": given.device,
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "time": "of the process" if alone else "of the clock",
        "torch": torch.__version__,
    }
    given.output.write_text(json.dumps({"rows": results, "overhead": by_size, **told}, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
