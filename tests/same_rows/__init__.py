"""Are the rows of a fixed set of runs the same as at an earlier commit? `python -m tests.same_rows --help`."""
