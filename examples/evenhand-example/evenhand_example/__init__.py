"""One thing of each kind that can be added to evenhand; each file is a template of its own."""
