"""What differs between runs: paired comparisons of models."""
