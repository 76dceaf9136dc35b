"""The tests, laid out as `src/evenhand` is; `helpers` is what they share."""
