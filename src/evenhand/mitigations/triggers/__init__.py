"""Adversarial triggers: the objective, the search over tokens, the mitigation that uses what was found."""
