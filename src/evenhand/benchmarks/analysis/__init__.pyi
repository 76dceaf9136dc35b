from .changes import (
    changes_of_likelihoods as changes_of_likelihoods,
)
from .contrasts import (
    paired_contrasts as paired_contrasts,
)
from .drawing_prompts import (
    DESCRIPTOR_AXES as DESCRIPTOR_AXES,
    crossed_by_noun as crossed_by_noun,
    pairs_with_own_nouns as pairs_with_own_nouns,
    with_axis_size as with_axis_size,
)
from .group_rates import (
    HARMFUL as HARMFUL,
    analyse_group_rates as analyse_group_rates,
    failure_rows as failure_rows,
    labelled_responses as labelled_responses,
    with_group as with_group,
)
from .headlines import (
    Headlines as Headlines,
    axis_rows as axis_rows,
    by_axis as by_axis,
    combine_headlines as combine_headlines,
    get_estimate as get_estimate,
    make_headline as make_headline,
    opinion_headlines as opinion_headlines,
    pair_headlines as pair_headlines,
    rate_headlines as rate_headlines,
    spread_headlines as spread_headlines,
)
from .likelier import (
    log_perplexity_headlines as log_perplexity_headlines,
    preference_headlines as preference_headlines,
)
from .likelihood import (
    LEAST_COMPARED as LEAST_COMPARED,
    analyse_likelihoods as analyse_likelihoods,
    analyse_valence as analyse_valence,
    likelihood_card as likelihood_card,
    planned_valence as planned_valence,
    published_obstacles as published_obstacles,
    published_pairs as published_pairs,
    published_rows as published_rows,
    several_descriptors as several_descriptors,
)
from .numbers_in_words import (
    only_read as only_read,
    score_headlines as score_headlines,
)
from .outcomes import (
    OUTCOME_HARMFUL as OUTCOME_HARMFUL,
    outcome_headlines as outcome_headlines,
)
from .pairs import (
    asked_twice as asked_twice,
    change_rows as change_rows,
    one_row_per_pair as one_row_per_pair,
    preference_rows as preference_rows,
    select_scoring as select_scoring,
    whole_pairs as whole_pairs,
)
from .planned_contrasts import (
    planned_axes as planned_axes,
    planned_intersections as planned_intersections,
    planned_nouns as planned_nouns,
    planned_pairs as planned_pairs,
    planned_together as planned_together,
)
from .planning import (
    INTERACTION as INTERACTION,
    evenly_over as evenly_over,
    planned_rates as planned_rates,
    same_cells as same_cells,
)
from .prompt_toxicity import (
    prompt_toxicity_rows as prompt_toxicity_rows,
)
from .pseudo_likelihood import (
    phrases_benchmark as phrases_benchmark,
    seat_templates as seat_templates,
)
from .rate_rows import (
    POINTS as POINTS,
    RATE_UNIT as RATE_UNIT,
    overall_rates as overall_rates,
)
from .robbie_axes import (
    pooled_rows as pooled_rows,
)
