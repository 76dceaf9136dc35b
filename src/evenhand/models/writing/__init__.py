"""The generation engine: states of a model, seats, beams, drawing, steering by other contexts."""
