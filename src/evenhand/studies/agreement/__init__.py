"""How far the classifiers that judged a run agree."""
