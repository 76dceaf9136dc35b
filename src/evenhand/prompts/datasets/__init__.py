"""Published data sets: where their owners keep them, their checksums, fetching them."""
