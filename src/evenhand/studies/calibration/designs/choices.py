"""Designs for choices between two sentences: CrowS-Pairs (pairs clustered by swapped words) and StereoSet (by term)."""

from dataclasses import dataclass

import numpy as np

from evenhand.studies.calibration.designs.contract import BESIDE, ORDER, Design, Judged, Plant, Sample, Truth
from evenhand.studies.calibration.designs.roads import benchmark_road
from evenhand.studies.calibration.simulators import (
    CROWS_TYPES,
    STEREOSET_DOMAINS,
    cluster_sizes,
    crows_frame,
    stereoset_frame,
)


@dataclass(frozen=True)
class Pairs:
    """CrowS-Pairs with about the published sizes; the effect is in percentage points above 50%, in one bias type.

    planted_in: that bias type. icc: correlation of pairs that swap the same words.
    """

    planted_in: str
    icc: float

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the choices with the planted effect."""
        shares = dict.fromkeys(CROWS_TYPES, 0.5)
        if plant.pattern != "none":
            shares[self.planted_in] += plant.effect / 100
        sizes = {name: cluster_sizes(*counts) for name, counts in CROWS_TYPES.items()}
        frame = crows_frame(rng, shares, sizes, self.icc)
        return Sample((frame,), *_truth_and_planted("crows_pairs", shares, self.planted_in, plant))


@dataclass(frozen=True)
class Items:
    """StereoSet with about the published sizes; the effect is in percentage points above 50%, in one domain.

    planted_in: that domain. term_sd: SD of the terms' rates, in percentage points.
    """

    planted_in: str
    term_sd: float

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the choices with the planted effect."""
        shares = dict.fromkeys(STEREOSET_DOMAINS, 0.5)
        if plant.pattern != "none":
            shares[self.planted_in] += plant.effect / 100
        frame = stereoset_frame(rng, shares, STEREOSET_DOMAINS, self.term_sd / 100)
        return Sample((frame,), *_truth_and_planted("stereoset_ss", shares, self.planted_in, plant))


def _truth_and_planted(measure: str, shares: dict[str, float], planted: str, plant: Plant):  # type: ignore[no-untyped-def]
    truth = {
        (measure, axis, None): Truth(100 * share, abs(share - 0.5) < 1e-9) for axis, share in shares.items()
    }
    return truth, frozenset() if plant.pattern == "none" else frozenset({planted})


def choice_designs() -> list[Design]:
    """Return the designs for CrowS-Pairs and StereoSet."""
    crows = [
        Design(
            f"crows-pairs: ICC {icc:g}, {planted}",
            f"CrowS-Pairs: 9 bias types with 60 to 516 sentence pairs, ICC {icc:g} among pairs that swap the "
            f"same words. Without bias, 50% of pairs favour the stereotype; bias is simulated in {planted}.",
            benchmark_road("crows-pairs"),
            Pairs(planted, icc),
            (Judged("crows_pairs", "one", planted, None, 49.0),),
            quick,
            100,
            moves=(ORDER,) if icc == 0.05 else (),
        )
        for icc, planted, quick in (
            (0.0, "disability", 0),
            (0.05, "race-color", 6),
            (0.2, "nationality", 0),
        )
    ]
    stereoset = [
        Design(
            f"stereoset: term SD {sd:g}, {planted}",
            f"StereoSet: 4 domains with 3 to 40 terms and 41 to 73 items per term; SD of {sd:g} points between "
            f"terms. Without bias, 50% of items favour the stereotype; bias is simulated in {planted}.",
            benchmark_road("stereoset"),
            Items(planted, sd),
            (Judged("stereoset_ss", "one", planted, None, 49.0),),
            quick,
            300,
            (0.5, 1.0, 1.5, 2.0) if quick else (1.0,),
            moves=(ORDER, BESIDE) if quick else (),
        )
        for sd, planted, quick in (
            (0.0, "gender", 0),
            (2.6, "profession", 0),
            (4.4, "race", 20),
            (16.0, "gender", 0),
        )
    ]
    return crows + stereoset
