"""Texts to train on: changed so that a bias is not learned from them, paired by which is preferred, or our own."""
