"""Methods that learn replies of dialogues: plainly, under other names, and behind labels."""
