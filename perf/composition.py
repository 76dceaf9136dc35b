"""Measure the time to compose the 567,507 corrected sentences of HolisticBias v1.1 and its prompt table.

    python perf/composition.py --data FOLDER    # Or without --data from the cache.

For comparison, a plain Python loop over phrases and templates makes the same texts. Only the ratio is meaningful.
"""

import argparse
import json
import time
from pathlib import Path

from evenhand.prompts.datasets.register import dataset_folder
from evenhand.prompts.holisticbias.sentences import HolisticBias


def best_of(repeats, work):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of HolisticBias v1.1 (else the cache)")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "composition.json")
    given = parser.parse_args()
    folder = dataset_folder("holisticbias", "v1.1", given.data)
    loaded, whole = best_of(3, lambda: HolisticBias.load(folder, "v1.1"))
    composed, texts = best_of(3, whole.texts)
    tabled, _ = best_of(3, whole.prompt_set)
    looped, rows = best_of(1, lambda: [whole.text(i) for i in range(len(whole))])
    assert texts.to_list() == rows
    seconds = {"load": loaded, "texts": composed, "prompt_set": tabled, "texts_by_row": looped}
    print(f"{len(texts):,} sentences")
    for name, value in seconds.items():
        print(f"  {name:14s}{value:8.3f} s")
    print(f"  all at once is {looped / composed:.0f} times faster than row by row")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({"sentences": len(texts), "seconds": seconds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
