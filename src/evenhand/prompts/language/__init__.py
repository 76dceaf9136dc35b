"""Our own sentences: templates, what fills them, and texts that probe classifiers."""
