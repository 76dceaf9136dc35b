"""Measures on likelihoods: Likelihood Bias, valence shifts, perplexity, pseudo-log-likelihoods."""
