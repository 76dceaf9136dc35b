"""Measures on classifiers: agreement, error rates, how much error a finding survives."""
