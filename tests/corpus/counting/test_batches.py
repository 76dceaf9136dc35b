"""Texts in memory count alike however they are handed over."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.corpus import count_batch, merged
from evenhand.schema import UsageError
from tests.corpus.counting.by_hand import SlowMatcher, table

TEXTS = ["she and mary", None, " ", "a deaf american woman", "he"]
TABLE = table()
FORMS = {
    "list": lambda texts: texts,
    "record batch": lambda texts: pa.RecordBatch.from_pydict({"n": list(range(len(texts))), "text": texts}),
    "Arrow table": lambda texts: pa.table({"text": texts}),
    "Arrow column": lambda texts: pa.chunked_array([texts]),
    "stream": lambda texts: pa.table({"text": texts}).to_reader(),
    "frame": lambda texts: pl.DataFrame({"text": texts}),
    "pandas frame": lambda texts: pd.DataFrame({"n": range(len(texts)), "text": texts}),
    "pandas series": lambda texts: pd.Series(texts),
    "series": lambda texts: pl.Series(texts),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form_of_texts_gives_the_same_counts(form: str) -> None:
    found = count_batch(FORMS[form](TEXTS), TABLE, matcher=SlowMatcher(TABLE))
    names = TABLE.terms.select("term", "name")
    hits = found.terms.join(names, on="term").group_by("name").agg(pl.col("hits").sum())
    assert dict(hits.iter_rows()) == {"she": 1, "Mary": 1, "deaf": 1, "American": 1, "woman": 1, "he": 1}
    assert found.totals["documents"].sum() == 3
    assert dict(found.skipped.select("reason", "documents").iter_rows()) == {"no_text": 1, "empty": 1}


def test_batches_add_up_to_the_whole() -> None:
    parts = [count_batch([text], TABLE, matcher=SlowMatcher(TABLE)) for text in TEXTS]
    whole = count_batch(TEXTS, TABLE, matcher=SlowMatcher(TABLE))
    assert merged(parts).terms.equals(whole.terms)
    assert merged(parts).skipped.equals(whole.skipped)


def test_what_holds_no_texts_is_refused() -> None:
    with pytest.raises(UsageError, match="column 'text' not found"):
        count_batch(pl.DataFrame({"body": TEXTS}), TABLE)
    with pytest.raises(UsageError, match=r"The batch: column 'text' not found \(found: body\)"):
        count_batch(pd.DataFrame({"body": TEXTS}), TABLE)
    with pytest.raises(UsageError, match="Did you mean 'texts'"):
        count_batch(pl.DataFrame({"texts": TEXTS}), TABLE)
    with pytest.raises(UsageError, match="The column has the type"):
        count_batch(pl.DataFrame({"text": [1]}), TABLE)
    with pytest.raises(UsageError, match="The batch contains values that are not texts"):
        count_batch([1], TABLE)
