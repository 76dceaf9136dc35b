"""The headline of a study names a cost in perplexity."""

import polars as pl
import pytest

from evenhand.studies.before_after.wording import price


@pytest.mark.parametrize(
    ("factor", "verdict", "told"),
    [
        (7.3, "higher", "perplexity of given texts is 7.3 times as high"),
        (1.9, "higher", ""),
        (7.3, "not detected", ""),
    ],
)
def test_a_perplexity_that_more_than_doubles_is_named(factor, verdict, told):
    row = {"benchmark": "wikitext", "measure": "text_perplexity", "estimate": factor, "verdict": verdict}
    assert price(pl.DataFrame([row]), "regard") == told
