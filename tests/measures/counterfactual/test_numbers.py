"""Numbers and ratings as people and models write them, each with what a reader takes it for."""

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.measures.counterfactual import read_number, read_rating
from evenhand.measures.counterfactual.numbers import NO_NUMBER, OTHER_SCALE, OUTSIDE, SEVERAL, UNCLEAR

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
PARTS_AND_SCALES = {
    "half a million": 500_000, "half a million dollars": 500_000, "a quarter of a million": 250_000,
    "three quarters of a million": 750_000, "half-million": 500_000, "$½ million": 500_000, "half a dozen": 6,
    "a dozen": 12, "two dozen": 24, "two to three hundred dollars": 250,
    "two hundred to three hundred thousand": 250_000,
    "two to three hundred thousand": 250_000, "fifty to one hundred": 75, "five to ten thousand": 7_500,
    "minus five": -5,
    "minus twenty-five": -25, "three and a half": 3.5, "three-and-a-half": 3.5, "7 and a half": 7.5, "7 1/2": 7.5,
    "7½": 7.5, "seven and three quarters": 7.75, "two and a half million": 2_500_000, "2 and a half million": 2_500_000,
    "a million and a half": 1_500_000, "seven point five": 7.5, "1.5 trillion": 1.5e12, "five thousand million": 5e9,
    "5 lakh": 500_000, "Rs 5,00,000": 500_000, "1.2 crore": 12_000_000, "five lakhs": 500_000, "85 grand": 85_000,
    "3 millions": 3e6, "5 hundred thousand": 500_000, "1e5": 100_000, "1.5e3": 1_500, "USD85000": 85_000,
    "85000USD": 85_000, "EUR85.000": 85_000, "85.000,00 €": 85_000, "7 on a scale of 1 to 10": 7, "8 (out of 10)": 8,
    "80k - 1.2M": 640_000,
}  # fmt: skip
UNREAD = {
    "1/2": UNCLEAR, "85.000.5": NO_NUMBER, "3/4": UNCLEAR, "three quarters": UNCLEAR,
    "two thirds of the salary": UNCLEAR, "half of 10": UNCLEAR,
    "twice 500": UNCLEAR, "5 Millionen": UNCLEAR, "seven tenths": UNCLEAR, "Answer: one half": UNCLEAR,
    "half": NO_NUMBER, "two hundred and a half": UNCLEAR, "one twenty": SEVERAL, "5 of 10": SEVERAL,
    "1/2 million": UNCLEAR,
    "": NO_NUMBER, "no idea": NO_NUMBER, "no one of them": NO_NUMBER, "COVID-19": NO_NUMBER, "6ft": NO_NUMBER,
    "After 5 years, 3 jobs.": SEVERAL, "2024-05-01": SEVERAL, "$60k, maybe $70k": SEVERAL, "two and three": SEVERAL,
    "8/10 for skills and 6/10 for fit.": SEVERAL, "nine to five": SEVERAL,
}  # fmt: skip
RATINGS = {
    "7/10": 7, "8 out of 10": 8, "Seven out of ten": 7, "I'd rate her 4.5 stars": 4.5, "7 - 8 / 10": 7.5, "ten": 10,
    "With 12 years behind her, 7/10.": 7, "With 5 years of experience, 7.": 7, "rating of 7": 7, "9 / 10 (90 %)": 9,
    "On a scale from 1 to 10, I would rate this an 8": 8, "between 7 and 8": 7.5, "Score = 9": 9, "A solid eight.": 8,
}  # fmt: skip
SAID_IN_FULL = {
    "7 on a scale of 1 to 10": 7, "7 on a scale of 1-10": 7, "8 (out of 10)": 8, "8 points out of 10": 8,
    "8 stars out of 10": 8, "six and a half out of ten": 6.5, "5 of 10": 5, "5 of 10.": 5, "7 and a half": 7.5,
    "7 1/2": 7.5, "7½/10": 7.5, "seven point five out of ten": 7.5, "seven and a half": 7.5,
    "8/10 on a scale of 1-10": 8,
    "On a 10-point scale: 7": 7, "Rating: 7-1/2": 7.5, "8 out of 10 candidates are worse; 6/10.": 6, "7.5 / 10": 7.5,
    "I would rate the applicant seven on a scale from one to ten.": 7, "*8* out of *10*": 8, "8 points": 8,
    "5 of 10 references; 7": 7,
}  # fmt: skip
NO_RATING = {
    "7 on a scale of 1 to 5": OTHER_SCALE, "minus five": OUTSIDE,
    "8 of 10 for effort": UNCLEAR, "2 of 10 and 3 of 10": SEVERAL, "1/2": OTHER_SCALE,
    "three quarters": UNCLEAR, "half a million": OUTSIDE, "half a dozen years": NO_NUMBER,
    "4/5": OTHER_SCALE, "Rating: 15": OUTSIDE, "it is 12": OUTSIDE, "20%": NO_NUMBER, "She has 5 years.": NO_NUMBER,
    "7 and 8": SEVERAL, "I can't rate people.": NO_NUMBER, "$85,000": OUTSIDE,
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), (NUMBERS | PARTS_AND_SCALES).items())
def test_numbers_as_they_are_meant(text: str, value: float) -> None:
    assert read_number(text).value == value


@pytest.mark.parametrize(("text", "why"), UNREAD.items())
def test_what_is_no_single_number_is_said_so_and_never_0(text: str, why: str) -> None:
    reading = read_number(text)
    assert (reading.value, reading.why) == (None, why)


@pytest.mark.parametrize(("text", "value"), (RATINGS | SAID_IN_FULL).items())
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
