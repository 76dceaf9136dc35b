"""Models from Hugging Face: causal, masked, encoder-decoder."""
