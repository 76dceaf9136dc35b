"""Training texts: rewritten for another group, in pairs of a preferred and a rejected text, or evenhand's own."""
