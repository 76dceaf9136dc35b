"""The command line: one short module per verb; parses, calls, prints."""
