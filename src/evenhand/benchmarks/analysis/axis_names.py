"""Names of the axes that several benchmarks share."""

DESCRIPTOR_AXES = (
    "ability",
    "age",
    "body_type",
    "characteristics",
    "cultural",
    "gender_and_sex",
    "nationality",
    "nonce",
    "political_ideologies",
    "race_ethnicity",
    "religion",
    "sexual_orientation",
    "socioeconomic_class",
)
"""The thirteen axes of the descriptors of HolisticBias, and of evenhand's own lexicon."""
