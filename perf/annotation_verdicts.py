"""Whole studies of simulated people, exported and analysed by the command's own code: are the verdicts right?

    python perf/annotation_verdicts.py                      # Ten minutes of a core.
    python perf/annotation_verdicts.py --studies 40

For each design: how often a preference was detected (in the right direction), how often the published test gives a
star, and the coverage of the 95% CI of the win rate. The first table of
docs/explanation/annotation_analysis.md has these numbers.
"""

import argparse
import json
import tempfile
from math import hypot
from pathlib import Path

import polars as pl

from evenhand.annotation import analyse
from evenhand.annotation.simulating import marginal_rate, simulated_votes
from evenhand.schema import write_votes

DESIGNS = {
    "no preference, 40 persons x 5 votes, effects of 1 logit": (0.0, 40, 5, 1.0, 1.0, 300),
    "a preference, 40 persons x 5 votes, effects of 1 logit": (1.0, 40, 5, 1.0, 1.0, 200),
    "no preference, 40 persons x 10 votes, persons differ by 1.5 logits": (0.0, 40, 10, 1.5, 0.0, 200),
    "a preference, 100 persons x 5 votes, effects of 1 logit": (0.8, 100, 5, 1.0, 1.0, 200),
}
"""Strength of the better model, persons, votes of each, SD of persons and of items (logits), studies."""


def outcomes(
    folder: Path, strength: float, persons: int, each: int, person_sd: float, item_sd: float, studies: int
) -> dict[str, float]:
    """Shares of the studies of one design."""
    truth = marginal_rate(strength, hypot(person_sd, item_sd))
    rows = []
    for seed in range(studies):
        votes = simulated_votes(
            {"better": strength, "other": 0.0},
            persons=persons,
            items_per_person=each,
            votes_per_item=2,
            person_sd=person_sd,
            item_sd=item_sd,
            seed=seed,
        )
        file = write_votes(folder / "votes.jsonl", votes, {"name": "simulated"})
        rates = analyse(file, baseline="other").tables()["win_rates"]
        ours, published = (
            rates.filter(measure=measure).row(0, named=True) for measure in ("win_rate", "win_rate_published")
        )
        rows.append(
            {
                "better preferred": ours["verdict"] == "preferred",
                "other preferred": ours["verdict"] == "not preferred",
                "stars": bool(published["stars"]),
                "covers": ours["low"] <= truth <= ours["high"],
            }
        )
    shares = pl.DataFrame(rows).mean().row(0, named=True)
    return {"studies": studies, "true share": round(truth, 4), **shares}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, help="of each design; default: 200 or 300")
    parser.add_argument("--output", type=Path, help="where the numbers go, as JSON")
    given = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (*design, studies) in DESIGNS.items():
            found[name] = outcomes(Path(folder), *design, given.studies or studies)
            print(name, json.dumps(found[name]), flush=True)
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
