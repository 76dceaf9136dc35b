from .asking import (
    answer as answer,
)
from .directory import (
    RUNS as RUNS,
    RunDirectory as RunDirectory,
    default_path as default_path,
)
from .engine import (
    AskOutcome as AskOutcome,
    execute as execute,
)
from .estimating import (
    FEW as FEW,
    estimate as estimate,
)
from .joining import (
    answers as answers,
    continuations as continuations,
    join_answers as join_answers,
    join_continuations as join_continuations,
    judgements as judgements,
    self_chats as self_chats,
    written_benchmarks as written_benchmarks,
)
from .labelling import (
    Labelling as Labelling,
    LabelOutcome as LabelOutcome,
    label as label,
    label_texts as label_texts,
)
from .labels import (
    LABEL_VALUES as LABEL_VALUES,
    build_classified_texts as build_classified_texts,
    classifier_key as classifier_key,
    describe_unjudged as describe_unjudged,
    label_folders as label_folders,
)
from .lock import (
    hold_lock as hold_lock,
)
from .manifest import (
    ClassifierRecord as ClassifierRecord,
    LabelledRecord as LabelledRecord,
    Manifest as Manifest,
    MitigationRecord as MitigationRecord,
    PromptSetRecord as PromptSetRecord,
    refuse_differences as refuse_differences,
)
from .plan import (
    Plan as Plan,
    PlanPart as PlanPart,
    make_plan as make_plan,
)
from .progress import (
    Progress as Progress,
    Silence as Silence,
    Unit as Unit,
    progress_for as progress_for,
    show_progress as show_progress,
)
from .requests import (
    ConversationRequest as ConversationRequest,
    GenerateRequest as GenerateRequest,
    Request as Request,
    ScoreRequest as ScoreRequest,
    fingerprint_digest as fingerprint_digest,
    request_ids as request_ids,
)
from .stopping import (
    Stopping as Stopping,
    resumable as resumable,
)
