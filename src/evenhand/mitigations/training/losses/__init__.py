"""Losses that train a bias out of a model beside language modelling: LMD, ADD and HD of RedditBias."""
