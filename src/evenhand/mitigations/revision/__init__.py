"""The search for an instruction: rounds of rewording, screening, the last choice. Knows no model, file or run."""
