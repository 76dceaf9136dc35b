"""Mitigations while writing: rules that combine distributions, and the models behind them."""
