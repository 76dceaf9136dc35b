"""Measure the speed of making counterfactual texts, in megabytes per second on one core.

    python perf/counterfactual.py --data FOLDER       # A minute; FOLDER holds the text files of WikiText-2.

Each engine reads all paragraphs of the folder's .txt files; the best of `--repeats` counts, by the processor's time,
and the time to build the engine is reported separately. Goal: at least 5 MB/s on one core.
"""

import argparse
import json
import platform
import time
from pathlib import Path

ENGINES = {
    "gender, female to male": {"axis": "gender", "source": "female", "target": "male"},
    "gender, mirrored": {"axis": "gender", "source": "female", "target": "male", "both": True},
    "name_origin, english to arabic": {"axis": "name_origin", "source": "english", "target": "arabic"},
    "nationality, American to Nigerian": {"axis": "nationality", "source": "American", "target": "Nigerian"},
    "religion, any to Christian": {"axis": "religion", "target": "Christian"},
    "race_ethnicity, Black to white": {"axis": "race_ethnicity", "source": "Black", "target": "white"},
    "ability, any to blind": {"axis": "ability", "target": "blind"},
}


def measured(options, paragraphs, size, repeats):
    from evenhand.prompts.counterfactual import Counterfactuals

    begun = time.process_time()
    engine = Counterfactuals(**options)
    made = time.process_time() - begun
    best, changes = float("inf"), 0
    for _ in range(repeats):
        begun = time.process_time()
        found = engine.of_all(paragraphs)
        best = min(best, time.process_time() - begun)
        changes = sum(len(one.changes) for one in found)
    return {
        "seconds": best,
        "megabytes_per_second": size / 1e6 / best,
        "changes": changes,
        "making_seconds": made,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the text files of WikiText-2")
    parser.add_argument("--repeats", type=int, default=3, help="number of runs, of which the best counts")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent / "results" / "counterfactual.json"
    )
    options = parser.parse_args()

    texts = [path.read_text(encoding="utf-8") for path in sorted(options.data.glob("*.txt"))]
    paragraphs = [line for text in texts for line in text.splitlines()]
    if not any(paragraphs):
        parser.error(
            f"--data: {options.data} holds no .txt file with text; name the folder of WikiText-2's files"
        )
    size = sum(len(line.encode()) for line in paragraphs)
    print(f"{size / 1e6:.2f} MB, {len(paragraphs):,} paragraphs")
    results = {}
    for name, chosen in ENGINES.items():
        results[name] = row = measured(chosen, paragraphs, size, options.repeats)
        print(f"{name:36s}{row['megabytes_per_second']:7.1f} MB/s{row['changes']:10,d} changes")
    options.output.parent.mkdir(exist_ok=True)
    found = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "bytes": size,
        "engines": results,
    }
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(f"Written to {options.output}")


if __name__ == "__main__":
    main()
