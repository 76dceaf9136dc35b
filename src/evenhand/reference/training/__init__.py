"""How the embedded model was trained on texts of a World, and how it was examined."""
