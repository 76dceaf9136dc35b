"""The result as one table: for each bias, model and measure a number, its limits, its null, and what changed."""

import polars as pl

from evenhand.measures.columns import typed
