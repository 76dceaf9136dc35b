"""An audit of one model: what is asked, conducting it, judging anew, its result, page and table."""
