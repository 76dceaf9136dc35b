"""The search for the instruction behind which a model writes least that is harmful."""
