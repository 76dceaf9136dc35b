"""Measures on judged responses: rates of groups, BiasScore, the largest rate, intersections."""
