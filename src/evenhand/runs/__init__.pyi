from .asking import (
    answer as answer,
)
from .continuation_rows import (
    continuations as continuations,
    join_continuations as join_continuations,
    written_benchmarks as written_benchmarks,
)
from .directory import (
    RunDirectory as RunDirectory,
    default_path as default_path,
)
from .engine import (
    Outcome as Outcome,
    execute as execute,
)
from .estimating import (
    estimate as estimate,
)
from .joining import (
    answers as answers,
    join_answers as join_answers,
)
from .labelling import (
    Labelling as Labelling,
    LabelOutcome as LabelOutcome,
    judge as judge,
    label as label,
)
from .labels import (
    VALUES as VALUES,
    classifier_key as classifier_key,
    identified as identified,
    judgements as judgements,
    label_folders as label_folders,
    with_judgements as with_judgements,
)
from .lock import (
    locked as locked,
)
from .manifest import (
    ClassifierRecord as ClassifierRecord,
    JudgedRecord as JudgedRecord,
    Manifest as Manifest,
    MitigationRecord as MitigationRecord,
    PromptSetRecord as PromptSetRecord,
    refuse_differences as refuse_differences,
)
from .plan import (
    Part as Part,
    Plan as Plan,
    make_plan as make_plan,
)
from .progress import (
    Progress as Progress,
    Silence as Silence,
    Unit as Unit,
    progress_for as progress_for,
)
from .requests import (
    GenerateRequest as GenerateRequest,
    Request as Request,
    ScoreRequest as ScoreRequest,
    fingerprint_digest as fingerprint_digest,
    request_ids as request_ids,
)
from .stopping import (
    Stopping as Stopping,
)
