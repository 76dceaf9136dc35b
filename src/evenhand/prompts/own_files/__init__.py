"""Files of the user: prompts to be asked, and texts to be measured."""
