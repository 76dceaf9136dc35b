"""Likelihoods of templated sentences, four ways side by side in one run.

    python perf/scoring.py                      # About half an hour of one core.
    python perf/scoring.py --small 2000 --large 300   # A quick look.

One text at a time (every tenth text, and its time ten times: they cost alike); length-sorted padded batches with
all logits; lm_eval's Hugging Face backend (`loglikelihood_rolling` and `loglikelihood`); evenhand's prefix tree. Same
random weights, same tokenizer, same HolisticBias v1.1 sentences, same scored tokens; the largest difference is
printed, so that speed is never bought with other numbers. Needs the HolisticBias v1.1 files: `evenhand data fetch
holisticbias`, or --data FOLDER. Only ratios mean anything: absolute times are of this machine, this hour.
With OMP_NUM_THREADS=1 processor time is counted, which other programs on the machine disturb less.
"""

import argparse
import json
import math
import os
import platform
import time
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command line sets it; the same for every way
import torch
from common import model_with_tokenizer, sentences_by_descriptor

LM_EVAL_BATCH = 64
EVERY = 10  # of the texts that are run one at a time


def one_at_a_time(model, tokenizer, texts):
    scores = []
    for text in texts[::EVERY]:
        ids = torch.tensor(
            [[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]]
        )
        with torch.inference_mode():
            log_probs = model(ids).logits[0].float().log_softmax(-1)
        scores.append(float(log_probs[:-1].gather(1, ids[0, 1:, None]).double().sum()))
    return np.array(scores)


def sorted_batches(model, tokenizer, texts, size=64):
    """The usual careful way: longest first, padded, every position through the head."""
    encoded = [
        [tokenizer.bos_token_id, *ids] for ids in tokenizer(texts, add_special_tokens=False)["input_ids"]
    ]
    order = sorted(range(len(texts)), key=lambda i: -len(encoded[i]))
    scores = np.empty(len(texts))
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        longest = len(encoded[chosen[0]])
        ids = torch.zeros(len(chosen), longest, dtype=torch.long)
        real = torch.zeros(len(chosen), longest, dtype=torch.long)
        for row, i in enumerate(chosen):
            ids[row, : len(encoded[i])] = torch.tensor(encoded[i])
            real[row, : len(encoded[i])] = 1
        with torch.inference_mode():
            log_probs = model(ids, attention_mask=real).logits.float().log_softmax(-1)
        own = log_probs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] * real[:, 1:]
        scores[chosen] = own.double().sum(1).numpy()
    return scores


def lm_eval_backend(model, tokenizer):
    from lm_eval.models.huggingface import HFLM

    return HFLM(
        pretrained=model, tokenizer=tokenizer, backend="causal", device="cpu", batch_size=LM_EVAL_BATCH
    )


def lm_eval_rolling(model, tokenizer, texts):
    from lm_eval.api.instance import Instance

    backend = lm_eval_backend(model, tokenizer)
    requests = [
        Instance(request_type="loglikelihood_rolling", doc={}, arguments=(text,), idx=i)
        for i, text in enumerate(texts)
    ]
    return np.array(backend.loglikelihood_rolling(requests, disable_tqdm=True))


def lm_eval_loglikelihood(model, tokenizer, texts):
    from lm_eval.api.instance import Instance

    backend = lm_eval_backend(model, tokenizer)
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=i)
        for i, text in enumerate(texts)
    ]
    return np.array([score for score, _ in backend.loglikelihood(requests, disable_tqdm=True)])


def ours(model, tokenizer, texts):
    from evenhand.models.huggingface.causal import CausalModel

    scorer = CausalModel(model, tokenizer, {"name": "perf"})
    assert str(scorer.path) == "prefix tree", scorer.rejected_paths
    likelihoods = scorer.log_likelihoods(texts)
    return likelihoods.sums, scorer.scorer.tokens_given, scorer.scorer.budget.tokens_run


def distinct_prefixes(tokenizer, texts) -> int:
    """The floor: prefixes that any method must run at least once (leaves need not be)."""
    inner = set()
    for ids in tokenizer(sorted(texts), add_special_tokens=False)["input_ids"]:
        inner.update(tuple(ids[:k]) for k in range(len(ids)))
    return len(inner)


def compare(name, shape, texts, repeats):
    model, tokenizer = model_with_tokenizer(texts, **shape)
    tokens = sum(map(len, tokenizer(texts, add_special_tokens=False)["input_ids"]))
    print(
        f"\n{name}: {len(texts)} sentences, {tokens / len(texts):.1f} tokens each, {torch.get_num_threads()} threads"
    )
    ways = {
        "one at a time": one_at_a_time,
        "length-sorted batches of 64, all logits": sorted_batches,
        "lm_eval loglikelihood_rolling": lm_eval_rolling,
        "lm_eval loglikelihood": lm_eval_loglikelihood,
        "evenhand": ours,
    }
    best, scores = dict.fromkeys(ways, math.inf), {}
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    for _ in range(repeats):  # in turn, so that a busy minute of the machine meets all of them
        for way, run in ways.items():
            start = clock()
            scores[way] = run(model, tokenizer, texts)
            seconds = (clock() - start) * (EVERY if way == "one at a time" else 1)
            best[way] = min(best[way], seconds)
    scores["evenhand"], given, ran = scores["evenhand"]
    floor = distinct_prefixes(tokenizer, texts)
    rows = []
    for way, seconds in best.items():
        alone = scores["one at a time"]
        same = scores[way] if way == "one at a time" else scores[way][::EVERY]
        worst = float(np.abs(same - alone).max())
        rows.append(
            {
                "model": name,
                "way": way,
                "sentences": len(texts),
                "seconds": round(seconds, 2),
                "sentences_per_second": round(len(texts) / seconds, 1),
                "evenhand_is_faster_by": round(seconds / best["evenhand"], 2),
                "largest_difference_nats_per_sentence": worst,
            }
        )
        print(
            f"  {way:42s}{seconds:9.1f} s {len(texts) / seconds:9.0f}/s   evenhand {seconds / best['evenhand']:5.1f} x"
            f"   differs {worst:.1e} nats a sentence"
        )
    print(f"  tokens given {given}, run by evenhand {ran}, distinct inner prefixes (floor) {floor}")
    return rows, {"model": name, "tokens_given": given, "tokens_run": ran, "floor": floor}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", type=int, default=20_000, help="sentences for the 4x256 model")
    parser.add_argument("--large", type=int, default=8_000, help="sentences for the GPT-2-small-shaped model")
    parser.add_argument("--repeats", type=int, default=2, help="number of runs, of which the best counts")
    parser.add_argument("--data", type=Path, help="folder of HolisticBias v1.1 (else the cache)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "scoring.json")
    given = parser.parse_args()
    small = {"layers": 4, "width": 256, "heads": 4, "vocabulary": 4096}
    large = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
    results, floors = [], []
    for name, shape, count in (
        ("4x256, V 4096", small, given.small),
        ("GPT-2 small, V 50257", large, given.large),
    ):
        rows, floor = compare(name, shape, sentences_by_descriptor(given.data, count), given.repeats)
        results += rows
        floors.append(floor)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    machine = {
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "time": "of the process" if torch.get_num_threads() == 1 else "of the clock",
        "torch": torch.__version__,
    }
    given.output.write_text(json.dumps({"rows": results, "tokens": floors, **machine}, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
