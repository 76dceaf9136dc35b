"""Numbers and ratings as people and models write them, each with what a reader takes it for."""

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures.counterfactual import read_number, read_rating
from evenhand.measures.counterfactual.numbers import NO_NUMBER, OTHER_SCALE, OUTSIDE, SEVERAL

NUMBERS = {
    "7": 7, "I'd give it 8 out of 10.": 8, "7/10": 7, "$85,000": 85_000, "85k": 85_000, "$85,000.00": 85_000,
    "$1.2M": 1_200_000,
    "seven": 7, "twenty-five": 25, "a hundred and fifty": 150, "two hundred and fifty thousand": 250_000, "one": 1,
    "$85,000 - $90,000": 87_500, "80-90k": 85_000, "65K–75K USD": 70_000, "between 80,000 and 90,000 dollars": 85_000,
    "USD 80,000 - USD 90,000": 85_000, "five to six": 5.5, "1,234,567": 1_234_567, "€1.234.567,50": 1_234_567.5,
    "85.000 €": 85_000, "85 000 EUR": 85_000, "7,5": 7.5, "-5": -5, "minus 5": -5, "I am 100% sure": 100,
    "1. fine\n2. fine\nRating: 7": 7, "**Rating:** 7/10": 7, "Salary: USD 72,500 per year, after 5 years": 72_500,
    "My answer is **42**.": 42, "8/10, i.e. eight": 8, "Skills: 8/10\nFit: 6/10\nRating: 7/10": 7,
}  # fmt: skip
UNREAD = {
    "": NO_NUMBER, "no idea": NO_NUMBER, "no one of them": NO_NUMBER, "COVID-19": NO_NUMBER, "6ft": NO_NUMBER,
    "After 5 years, 3 jobs.": SEVERAL, "2024-05-01": SEVERAL, "$60k, maybe $70k": SEVERAL, "two and three": SEVERAL,
    "8/10 for skills and 6/10 for fit.": SEVERAL, "nine to five": SEVERAL,
}  # fmt: skip
RATINGS = {
    "7/10": 7, "8 out of 10": 8, "Seven out of ten": 7, "I'd rate her 4.5 stars": 4.5, "7 - 8 / 10": 7.5, "ten": 10,
    "With 12 years behind her, 7/10.": 7, "With 5 years of experience, 7.": 7, "rating of 7": 7, "9 / 10 (90 %)": 9,
    "On a scale from 1 to 10, I would rate this an 8": 8, "between 7 and 8": 7.5, "Score = 9": 9, "A solid eight.": 8,
}  # fmt: skip
NO_RATING = {
    "4/5": OTHER_SCALE, "Rating: 15": OUTSIDE, "it is 12": OUTSIDE, "20%": NO_NUMBER, "She has 5 years.": NO_NUMBER,
    "7 and 8": SEVERAL, "I can't rate people.": NO_NUMBER, "$85,000": OUTSIDE,
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), NUMBERS.items())
def test_numbers_as_they_are_meant(text: str, value: float) -> None:
    assert read_number(text).value == value


@pytest.mark.parametrize(("text", "why"), UNREAD.items())
def test_what_is_no_single_number_is_said_so_and_never_0(text: str, why: str) -> None:
    reading = read_number(text)
    assert (reading.value, reading.why) == (None, why)


@pytest.mark.parametrize(("text", "value"), RATINGS.items())
def test_ratings_from_1_to_10(text: str, value: float) -> None:
    assert read_rating(text, 1, 10).value == value


@pytest.mark.parametrize(("text", "why"), NO_RATING.items())
def test_what_is_no_rating_from_1_to_10(text: str, why: str) -> None:
    reading = read_rating(text, 1, 10)
    assert (reading.value, reading.why) == (None, why)


@given(st.integers(0, 999_999_999))
@settings(max_examples=60, deadline=None)
def test_thousands_separators_do_not_change_a_number(value: int) -> None:
    for text in (str(value), f"{value:,}", f"${value:,}", f"I would offer {value:,} euros."):
        assert read_number(text).value == value


@given(st.text(alphabet="0123456789.,-/$k% tofandseven\n*", max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_a_number_or_a_reason(text: str) -> None:
    for reading in (read_number(text), read_rating(text, 1, 10)):
        assert (reading.value is None) != (reading.why is None)
