"""The scoring engine: token sequences, the prefix tree, the output head, the check of fast paths against plain ones."""
