"""Designs for self-chats that start with a name: classified gender, tokens and occupations, with few or many names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.benchmarks import AnalysisOptions, JudgedAnalysis, judge_responses, load_benchmark
from evenhand.benchmarks.names import (
    combine_analyses,
    genderedness,
    group_tokens,
    make_occupation_analysis,
    tokens,
)
from evenhand.studies.calibration.designs.contract import (
    ORDER,
    Design,
    Judged,
    Key,
    Plant,
    Road,
    Sample,
    Truth,
)
from evenhand.studies.calibration.simulators import MentionedOccupations, Names, SaidTokens, ToldGender

TOLD, HIDDEN, LEAN = "classifier_bias", "classifier_bias_masked", "occupation_lean"
BINS, GROUP_BINS = "token_bins", "intersectional_token_bins"
GENDER, GROUP = "gender", "gender and race"
LEANS = (0.0, 0.2, 0.4, 0.8, 1.6)
"""Log ratios of token frequencies between groups for which `TokenChats.averages` is known."""
RESAMPLES = 9
"""Number of resamples for correlations, which have no verdict."""


@dataclass(frozen=True)
class TellingChats:
    """Genders that a simulated classifier assigns; the effect is its accuracy above chance, in percentage points.

    Attributes
    ----------
    hidden
        Whether names are masked for the classifier.
    """

    chats: ToldGender
    hidden: bool = False

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the conversations with the planted effect."""
        points = plant.effect if plant.pattern != "none" else 0.0
        frame = self.chats.frame(rng, points)
        if self.hidden:
            return _sample(frame.rename({"gender_label": "gender_masked_label"}), HIDDEN, GENDER, points)
        return _sample(frame, TOLD, GENDER, points)


@dataclass(frozen=True)
class TokenChats:
    """Tokens of conversations; the effect is the mean of the measure for this number of names and amount of text.

    Attributes
    ----------
    averages
        Mean of the measure over 24 data sets at each of LEANS, because there is no formula for it.
    groups
        Number of groups of gender and race; 0: compare two genders.
    """

    chats: SaidTokens
    averages: tuple[float, ...] = LEANS
    groups: int = 0

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the conversations with the planted effect."""
        effect = plant.effect if plant.pattern != "none" else 0.0
        lean = float(np.interp(effect, self.averages, LEANS)) if effect else 0.0
        frame = _tokens(self, rng, lean)
        return _sample(frame, GROUP_BINS if self.groups else BINS, GROUP if self.groups else GENDER, effect)


@dataclass(frozen=True)
class OccupationChats:
    """Occupations mentioned in conversations.

    The effect is the difference between genders in the mean share of women who work in the mentioned occupations, in
    percentage points.
    """

    chats: MentionedOccupations

    def __call__(self, rng: np.random.Generator, plant: Plant) -> Sample:
        """Simulate the conversations with the planted effect."""
        points = plant.effect if plant.pattern != "none" else 0.0
        return _sample(self.chats.frame(rng, points), LEAN, GENDER, points)


def _sample(frame: pl.DataFrame, measure: str, axis: str, effect: float) -> Sample:
    truth: dict[Key, Truth] = {(measure, axis, None): Truth(effect, effect == 0)}
    return Sample((frame,), truth, frozenset({axis}) if effect else frozenset())


def _tokens(chats: TokenChats, rng: np.random.Generator, lean: float) -> pl.DataFrame:
    if chats.groups:
        return chats.chats.sample_groups(rng, lean, chats.groups)
    return chats.chats.frame(rng, lean)


def _road(part: str, shares: pl.DataFrame | None = None) -> Road:
    """Return one part of the analysis of the benchmark `names`."""
    parts = {
        TOLD: genderedness,
        BINS: tokens,
        GROUP_BINS: group_tokens,
        LEAN: make_occupation_analysis(lambda: pl.DataFrame() if shares is None else shares, RESAMPLES),
    }

    def road(sample: Sample, seed: int) -> JudgedAnalysis:
        benchmark = replace(load_benchmark("names"), analyse=combine_analyses(parts[part]), n_axes=None)
        return judge_responses(benchmark, sample.frames[0], AnalysisOptions(seed=seed))

    return road


def name_designs() -> list[Design]:
    """Return the designs for self-chats."""
    return [*_classified_gender_designs(), *_bins(), *_group_bins(), *_lean()]


def _classified_gender_designs() -> list[Design]:
    shapes: Sequence[tuple[str, str, ToldGender, int, int]] = (
        ("20 + 20 names", "", ToldGender(Names(20, 20)), 20, 200),
        ("8 + 8 names", "Few names: ", ToldGender(Names(8, 8, 6)), 0, 200),
        ("4 + 4 names", "Very few names: ", ToldGender(Names(4, 4, 6)), 0, 200),
        ("2 + 2 names", "Too few names for a verdict: ", ToldGender(Names(2, 2, 6)), 0, 40),
        ("8 + 8 unequal names", "Unequal numbers of conversations: ", ToldGender(Names(8, 8, 12, True)), 10, 200),
        ("8 + 30 unequal names",
         "Unequal numbers of names and conversations: ", ToldGender(Names(8, 30, 12, True)), 0, 200),
        ("60 + 60 names, rare", "Rarely assigned genders: ",
         ToldGender(Names(60, 60, 2), seen=0.03), 0, 200),
        ("10 + 10 names, rare", "Few names and rarely assigned genders: ",
         ToldGender(Names(10, 10, 2), seen=0.03, lean=0.0, taste=0.05), 0, 200),
        ("20 + 20 names, race beside", "",
         ToldGender(Names(20, 20, 4, races=True), race=0.15), 0, 200),
    )  # fmt: skip
    shown = [
        Design(
            f"names told: {words}", about + _describe_classified_gender(chats), _road(TOLD), TellingChats(chats),
            (Judged(TOLD, "one", GENDER, None, chats.largest),), quick, full,
            (0.5, 1.0, 1.5, 2.0) if words == "20 + 20 names" else (1.0,),
            moves=(ORDER,) if words == "20 + 20 names" else (),
        )
        for words, about, chats, quick, full in shapes
    ]  # fmt: skip
    hidden = [
        Design(
            f"names hidden: {words}",
            about + _describe_classified_gender(chats, hidden=True), _road(TOLD), TellingChats(chats, True),
            (Judged(HIDDEN, "one", GENDER, None, chats.largest),), 0, full,
        )
        for words, about, chats, _, full in shapes
        if words in ("20 + 20 names", "8 + 30 unequal names")
    ]  # fmt: skip
    return shown + hidden


def _bins() -> list[Design]:
    plain = SaidTokens(Names(20, 20))
    shapes: Sequence[tuple[str, str, TokenChats, int, int]] = (
        ("20 + 20 names", "",
         TokenChats(plain, (0.0, 0.035, 0.1289, 0.3375, 0.7887)), 8, 100),
        ("8 + 8 names", "Few names: ",
         TokenChats(SaidTokens(Names(8, 8, 8)), (0.0, 0.0306, 0.0784, 0.3032, 0.7407)), 0, 60),
        ("3 + 3 names", "Too few names for a verdict: ", TokenChats(SaidTokens(Names(3, 3))), 0, 20),
        ("8 + 30 unequal names", "Unequal numbers of names and conversations: ",
         TokenChats(SaidTokens(Names(8, 30, 12, True)), (0.0, 0.0168, 0.0881, 0.2978, 0.7525)), 0, 60),
        ("40 + 40 names", "Many names: ",
         TokenChats(SaidTokens(Names(40, 40, 3)), (0.0, 0.035, 0.1422, 0.3802, 0.8274)), 0, 50),
        ("20 + 20 names of strong tastes", "Names differ strongly in their words: ",
         TokenChats(replace(plain, taste=30.0), (0.0, 0.0227, 0.029, 0.153, 0.593)), 0, 60),
        ("20 + 20 names, race beside", "",
         TokenChats(SaidTokens(Names(20, 20, races=True)), (0.0, 0.0359, 0.1153, 0.3367, 0.7926)), 0, 60),
    )  # fmt: skip
    return [
        Design(
            f"names tokens: {words}", about + _describe_tokens(chats), _road(BINS), chats,
            (Judged(BINS, "one", GENDER, None, 0.5),), quick, full,
        )
        for words, about, chats, quick, full in shapes
    ]  # fmt: skip


def _group_bins() -> list[Design]:
    shapes: Sequence[tuple[str, str, TokenChats, int]] = (
        ("4 groups of 10 names", "",
         TokenChats(SaidTokens(Names(20, 20)), (0.0, 0.0226, 0.0961, 0.2472, 0.5583), 4), 50),
        ("8 groups of 8 names", "",
         TokenChats(SaidTokens(Names(32, 32)), (0.0, 0.0147, 0.0475, 0.2277, 0.6872), 8), 40),
        ("8 groups of 3 names", "Too few names for a verdict: ", TokenChats(SaidTokens(Names(12, 12)), groups=8), 20),
    )  # fmt: skip
    return [
        Design(
            f"names groups: {words}", about + _describe_tokens(chats), _road(GROUP_BINS), chats,
            (Judged(GROUP_BINS, "one", GROUP, None, 0.5),), 0, full,
        )
        for words, about, chats, full in shapes
    ]  # fmt: skip


def _lean() -> list[Design]:
    shapes: Sequence[tuple[str, str, MentionedOccupations, int, int]] = (
        ("20 + 20 names", "", MentionedOccupations(Names(20, 20)), 10, 200),
        ("8 + 8 unequal names", "Unequal numbers of conversations: ",
         MentionedOccupations(Names(8, 8, 20, True)), 0, 200),
        ("8 + 30 unequal names",
         "Unequal numbers of names and conversations: ", MentionedOccupations(Names(8, 30, 20, True)), 0, 200),
        ("4 + 4 names", "Very few names: ", MentionedOccupations(Names(4, 4, 20)), 0, 200),
        ("60 + 60 names, rare", "Rarely mentioned occupations: ", MentionedOccupations(Names(60, 60, 2), rate=0.1),
         0, 200),
        ("10 + 10 names, rare", "Few names and rarely mentioned occupations: ",
         MentionedOccupations(Names(10, 10, 4), rate=0.1), 0, 200),
        ("20 + 20 names of strong tastes", "Names differ strongly in the occupations that they mention: ",
         MentionedOccupations(Names(20, 20, 8), taste=3.0), 0, 200),
    )  # fmt: skip
    return [
        Design(
            f"names occupations: {words}",
            about + _describe_occupations(chats), _road(LEAN, chats.table()), OccupationChats(chats),
            (Judged(LEAN, "one", GENDER, None, 45.0),), quick, full,
        )
        for words, about, chats, quick, full in shapes
    ]  # fmt: skip


def _describe_names(names: Names) -> str:
    """Return the numbers of names and of conversations per name."""
    race = ", half of each gender's from a second race" if names.races else ""
    talks = f"{'1 to ' if names.bursty else ''}{names.talks} conversations per name"
    return f"{names.women} women's and {names.men} men's names{race}, {talks}"


def _describe_classified_gender(chats: ToldGender, *, hidden: bool = False) -> str:
    """Return the description of a design with classified gender."""
    low, high = (100 * (0.5 + chats.lean + sign * chats.taste) for sign in (-1, 1))
    more = 100 * chats.race
    race = f" (second race: {low + more:.0f}% or {high + more:.0f}%)" if chats.names.races else ""
    return (
        f"{_describe_names(chats.names)} with {chats.turns} utterances each. The simulated classifier"
        f"{', which sees masked names,' if hidden else ''} assigns a gender to {100 * chats.seen:g}% of utterances: "
        f'"woman" to {low:.0f}% or {high:.0f}% of these{race}, depending on the name but not its gender.'
    )


def _describe_tokens(chats: TokenChats) -> str:
    """Return the description of a design with tokens."""
    said, names = chats.chats, chats.chats.names
    size = _describe_names(names)
    if chats.groups:
        each = (names.women + names.men) // chats.groups
        size = (
            f"{chats.groups} groups (2 genders, {chats.groups // 2} races) of {each} names, {names.talks} "
            "conversations per name"
        )
    race = f"; the second race uses every fourth token more (log ratio {said.race:g})" if names.races else ""
    return (
        f"{size} with {said.tokens} tokens each. Frequencies of {said.vocabulary} tokens follow Zipf's law for all "
        f"groups, with random deviations by name (Dirichlet, concentration {said.taste:g}){race}."
    )


def _describe_occupations(chats: MentionedOccupations) -> str:
    """Return the description of a design with occupations."""
    return (
        f"{_describe_names(chats.names)} and on average {chats.rate:g} occupation mentions per conversation. "
        f"{len(chats.shares)} occupations are equally likely for both genders, with random deviations by name "
        f"(Dirichlet, concentration {chats.taste:g})."
    )
