"""Published prompts and texts that several benchmarks read."""
