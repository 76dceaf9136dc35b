"""Compare evenhand and the released langfair on one table of responses: a sentence and a number.

The table is a semicolon CSV with custom column names: three questions, 40 people of each of two groups, answers that
are hostile or not. langfair's `SentimentBias` with weak parity is the difference of the two groups' shares, its default
(strong parity) the distance of two sorted lists of scores. Here both use the labels of the file as their classifier, so
that only the analysis differs. Both are then applied to tables without a difference.

    python perf/langfair_answers.py --langfair /path/to/venv/bin/python     # A venv of its own: pip install langfair.

The script prints both results for the table, and both false-alarm rates for 200 tables without a difference.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import evenhand as eh

QUESTIONS = {"Lohn": 0.25, "Beruf": 0.30, "Alltag": 0.35}
PEOPLE, PLANTED, TABLES = 40, 0.25, 200
COLUMNS = {"Frage": "question", "Geschlecht": "group", "Urteil": "label"}
THEIRS = """
import json, sys, types
# its package loads a client, a text-similarity model and a plotting library that these metrics do not use
class Absent(types.ModuleType):
    def __getattr__(self, name):
        return type(name, (), {})
for name in ("torch", "transformers", "sentence_transformers", "langchain_core", "langchain_core.messages",
             "langchain_core.messages.system", "langchain_core.language_models", "langchain_core.messages.human",
             "langchain_core.language_models.chat_models", "matplotlib", "matplotlib.pyplot", "datasets", "evaluate",
             "detoxify", "langchain", "langchain_openai"):
    try:
        __import__(name)
    except Exception:
        sys.modules[name] = Absent(name)
from langfair.metrics.counterfactual.metrics import SentimentBias

class Labels:
    def predict(self, texts):
        return [1.0 if text == "feindlich" else 0.0 for text in texts]

found = []
for first, second in json.load(sys.stdin):
    both = [
        float(metric.evaluate(first, second, show_progress_bars=False))
        for metric in (SentimentBias(parity=kind, custom_classifier=Labels()) for kind in ("weak", "strong"))
    ]
    found.append(both)
json.dump(found, sys.stdout)
"""


def table(rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Rows of question, group, label, drawn without a difference between the groups."""
    return [
        (question, group, "feindlich" if rng.random() < rate else "neutral")
        for question, rate in QUESTIONS.items()
        for group in ("Frauen", "Männer")
        for _ in range(PEOPLE)
    ]


def exact() -> list[tuple[str, str, str]]:
    """Rows in which the share of hostile answers about women is larger by exactly PLANTED."""
    return [
        (
            question,
            group,
            "feindlich" if place < round(PEOPLE * (rate + PLANTED * (group == "Frauen"))) else "neutral",
        )
        for question, rate in QUESTIONS.items()
        for group in ("Frauen", "Männer")
        for place in range(PEOPLE)
    ]


def ours(rows: list[tuple[str, str, str]], folder: Path) -> tuple[str, str]:
    """The sentence and the verdict, through the file."""
    path = folder / "antworten.csv"
    with path.open("w", encoding="cp1252", newline="") as handle:
        writer = csv.writer(handle, delimiter=";")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    found = eh.measure(path, columns=COLUMNS, negative="feindlich")
    return found.tables()["headlines"].select("sentence", "verdict").row(0)


def theirs(python: str, tables: list[list[tuple[str, str, str]]]) -> list[tuple[float, float]]:
    """Weak and strong parity of each table."""
    pairs = [
        [[label for _, g, label in rows if g == group] for group in ("Frauen", "Männer")] for rows in tables
    ]
    done = subprocess.run(
        [python, "-c", THEIRS], input=json.dumps(pairs), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return [(weak, strong) for weak, strong in json.loads(done.stdout)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--langfair", required=True, help="a Python that has langfair")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    planted = exact()
    alike = [table(rng) for _ in range(TABLES)]
    (weak, strong), *without = theirs(given.langfair, [planted, *alike])
    gaps = np.abs([one for one, _ in without])
    with tempfile.TemporaryDirectory() as folder:
        sentence, _ = ours(planted, Path(folder))
        verdicts = [ours(rows, Path(folder))[1] for rows in alike]
    print(f"planted: {100 * PLANTED:.0f} points more hostile answers about women")
    print(f"  langfair: weak parity {weak:.2f}, strong parity {strong:.2f}")
    print(f"  evenhand: {sentence}")
    print(f"nothing planted, {TABLES} tables:")
    print(
        f"  langfair: weak parity {gaps.mean():.3f} on average (0 would be alike), 0.1 or more in "
        f"{100 * np.mean(gaps >= 0.1):.0f} % of the tables"
    )
    print(
        f"  evenhand: a difference found in {100 * np.mean([one == 'biased' for one in verdicts]):.1f} % of the tables"
    )


if __name__ == "__main__":
    main()
