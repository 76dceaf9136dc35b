"""Methods that learn replies of dialogues (plainly, under other names, behind labels), and what they learn from."""
