"""Agreement of the classifiers of a run: the public function and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from evenhand.runs import RunDirectory
from evenhand.schema import as_json
from evenhand.studies.agreement.conduct import ClassifierPair, compared_pairs
from evenhand.studies.agreement.page import agreement_page
from evenhand.studies.agreement.terminal import render_agreement
from evenhand.studies.result import StudyResult

FORMAT = 1
KEYS = ("benchmark", "role", "first", "second")


@dataclass(frozen=True, repr=False)
class AgreementStudy(StudyResult):
    """Agreement of all pairs of classifiers that classified the same responses of a run."""

    PAGE, NUMBERS = "agreement.html", "agreement.json"

    run: Path
    comparisons: tuple[ClassifierPair, ...]
    notes: tuple[str, ...] = ()
    """Pairs of classifiers that could not be compared, with the reason."""

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self.run

    @property
    def overall(self) -> pl.DataFrame:
        """Return one row per pair of classifiers and measure, with benchmark, role, first, second and the columns of
        `Agreement.overall`.
        """
        return self._stacked("overall")

    @property
    def groups(self) -> pl.DataFrame:
        """Return one row per pair of classifiers and group, with benchmark, role, first, second and the columns of
        `Agreement.groups`.
        """
        return self._stacked("groups")

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables ``overall`` and ``groups``."""
        return {"overall": self.overall, "groups": self.groups}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data, as in the JSON file."""
        return as_json(
            {
                "format": FORMAT,
                "run": str(self.run),
                "comparisons": [
                    {
                        "benchmark": pair.benchmark,
                        "role": pair.role,
                        "a": pair.first,
                        "b": pair.second,
                        "overall": pair.result.overall.to_dicts(),
                        "groups": pair.result.groups.to_dicts(),
                        "groups_p": pair.result.groups_p,
                    }
                    for pair in self.comparisons
                ],
                "notes": list(self.notes),
            }
        )

    def html(self) -> str:
        """Return the HTML page with all pairs of classifiers and all groups."""
        return agreement_page(self.run, self.comparisons, self.notes)

    def print_to(self, console: Console, paths: Mapping[str, Path] | None = None) -> None:
        """Print for each pair how far they agree, and about whom they disagree most."""
        render_agreement(self.run, self.comparisons, self.notes, console, paths)

    def _stacked(self, table: str) -> pl.DataFrame:
        named = [
            getattr(pair.result, table).select(
                *(pl.lit(getattr(pair, key)).alias(key) for key in KEYS), pl.all()
            )
            for pair in self.comparisons
        ]
        return pl.concat(named) if named else pl.DataFrame()


def classifier_agreement(directory: RunDirectory, *, alpha: float = 0.05, seed: int = 0) -> AgreementStudy:
    """Compare all classifiers with the same role in a benchmark, on the responses that both classified.

    Parameters
    ----------
    directory
        Folder of a run. `evenhand rescore` adds classifiers to it.
    alpha
        Significance level of the tests between groups.
    seed
        Random seed of their permutations.

    Returns
    -------
    AgreementStudy
        Agreement of each pair of classifiers. Rows of one cluster, or samples of one prompt, are one sampling unit.

    Raises
    ------
    DataError
        No role has two classifiers.

    References
    ----------
    - Cohen 1960; Cicchetti & Feinstein 1990. Statistics: `evenhand.measures.agreement`.
    """
    pairs, notes = compared_pairs(directory, alpha=alpha, seed=seed)
    return AgreementStudy(directory.path, tuple(pairs), tuple(notes))
