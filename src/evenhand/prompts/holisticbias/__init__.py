"""HolisticBias: descriptors, noun phrases and sentences of versions 1.0 and 1.1."""
