from .answering import (
    Answer as Answer,
    check_answers as check_answers,
    reason_field as reason_field,
    turns_to_mark as turns_to_mark,
)
from .files import (
    StudyError as StudyError,
    read_study as read_study,
    study_yaml as study_yaml,
    write_study as write_study,
)
from .items import (
    Conversation as Conversation,
    Item as Item,
    ItemKind as ItemKind,
    Turn as Turn,
)
from .outlining import (
    Outline as Outline,
    in_words as in_words,
    outline as outline,
)
from .parts import (
    About as About,
    Assignment as Assignment,
    Block as Block,
    Completion as Completion,
    Consent as Consent,
    Hidden as Hidden,
    Onboarding as Onboarding,
    Scale as Scale,
    Statement as Statement,
)
from .plain_text import (
    unfit_character as unfit_character,
    without_controls as without_controls,
)
from .questions import (
    Choice as Choice,
    FreeText as FreeText,
    Likert as Likert,
    Marks as Marks,
    Option as Option,
    PairChoice as PairChoice,
    Question as Question,
    Reason as Reason,
)
from .rules import (
    Action as Action,
    ConstantSide as ConstantSide,
    CopiedReasons as CopiedReasons,
    GoldBelow as GoldBelow,
    InconsistentDuplicates as InconsistentDuplicates,
    OnboardingBelow as OnboardingBelow,
    Rule as Rule,
    TooFast as TooFast,
)
from .study import (
    Study as Study,
)
from .surveys import (
    SDO7 as SDO7,
    list_statements as list_statements,
)
from .templates import (
    TEMPLATES as TEMPLATES,
    template as template,
    template_note as template_note,
)
