"""Texts to train on: changed so that a bias is not learned from them, or written from our own sentences."""
