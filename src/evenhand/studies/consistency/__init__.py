"""Whether a mitigation does what its words say: the consistency protocol."""
