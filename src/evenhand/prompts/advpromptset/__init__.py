"""AdvPromptSet, cut out of a user's own Jigsaw downloads, and the stages that were never released."""
