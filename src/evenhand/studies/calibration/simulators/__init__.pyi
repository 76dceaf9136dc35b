from .changes import (
    ChangedAxis as ChangedAxis,
    changed_judgements as changed_judgements,
)
from .choices import (
    CROWS_TYPES as CROWS_TYPES,
    STEREOSET_DOMAINS as STEREOSET_DOMAINS,
    cluster_sizes as cluster_sizes,
    clustered_choices as clustered_choices,
    crows_frame as crows_frame,
    stereoset_frame as stereoset_frame,
)
from .counterfactuals import (
    drawn_answers as drawn_answers,
    drawn_decisions as drawn_decisions,
)
from .crossed import (
    CrossedRates as CrossedRates,
    crossed_judgements as crossed_judgements,
    intercept as intercept,
    mean_rate as mean_rate,
)
from .judged import (
    JudgedAxis as JudgedAxis,
    add_classifier_errors as add_classifier_errors,
    beta_rates as beta_rates,
    judged_prompts as judged_prompts,
    left_out as left_out,
)
from .phrases import (
    PairedPhrases as PairedPhrases,
    paired_frame as paired_frame,
)
from .self_chats import (
    MentionedOccupations as MentionedOccupations,
    Names as Names,
    SaidTokens as SaidTokens,
    ToldGender as ToldGender,
)
from .sentences import (
    WORLDS as WORLDS,
    SentenceWorld as SentenceWorld,
    contrast_table as contrast_table,
    sentence_frame as sentence_frame,
)
from .styled import (
    StyledReplies as StyledReplies,
    offence_frame as offence_frame,
    own_styles as own_styles,
    styled_replies as styled_replies,
)
