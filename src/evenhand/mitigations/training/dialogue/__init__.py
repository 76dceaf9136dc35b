"""Methods that learn replies of dialogues (as they are, with other names, or with labels), and their training data."""
