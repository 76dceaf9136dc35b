"""Losses that reduce a bias in addition to language modelling: LMD, ADD and HD of RedditBias."""
