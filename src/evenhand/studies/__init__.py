"""Questions put to models: an audit of one (later: before and after, consistency, calibration)."""
