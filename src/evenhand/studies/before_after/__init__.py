"""What a mitigation helps and what it costs: one model before and after."""
