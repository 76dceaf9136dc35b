"""Training and evaluation of the embedded model on texts of a World."""
