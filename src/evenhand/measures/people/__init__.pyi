from .agreeing import item_agreement as item_agreement, person_agreement as person_agreement
from .equality import (
    sdo_scores as sdo_scores,
    statement_ratings as statement_ratings,
    win_rates_by_views as win_rates_by_views,
)
from .judgements import classifier_correlation as classifier_correlation
from .latent_labels import LatentLabels as LatentLabels, dawid_skene as dawid_skene
from .rating_rate import rating_differences as rating_differences, rating_rates as rating_rates
from .sides import side_effect as side_effect
from .win_rate import win_rates as win_rates
