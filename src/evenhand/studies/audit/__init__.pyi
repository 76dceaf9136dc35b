from .asked.talking import (
    told_alike as told_alike,
)
from .classifiers import (
    ClassifierShelf as ClassifierShelf,
    benchmarks_by_role as benchmarks_by_role,
    check_roles as check_roles,
    find_dependent_roles as find_dependent_roles,
    named_by_role as named_by_role,
    named_or_loaded as named_or_loaded,
    optional_roles as optional_roles,
)
from .conduct import (
    AuditResult as AuditResult,
    CheckAxes as CheckAxes,
    audited_model as audited_model,
    axes_by_benchmark as axes_by_benchmark,
    called_from_python as called_from_python,
    conduct_audit as conduct_audit,
    preview as preview,
    told_as_dialogue as told_as_dialogue,
    told_whole as told_whole,
)
from .decoding import (
    ChosenDecoding as ChosenDecoding,
    choose_decoding as choose_decoding,
    describe_decoding as describe_decoding,
)
from .glance import (
    cost as cost,
    quality as quality,
)
from .length_limits import (
    LengthLoss as LengthLoss,
    describe_losses as describe_losses,
    find_length_losses as find_length_losses,
    refuse_losses as refuse_losses,
)
from .options import (
    NAMED_ANEW as NAMED_ANEW,
    AskingOptions as AskingOptions,
    AuditConfig as AuditConfig,
    LabellingOptions as LabellingOptions,
    read_config as read_config,
    stored_config as stored_config,
)
from .rescoring import (
    labelled_benchmarks as labelled_benchmarks,
)
from .result import (
    Run as Run,
    audit as audit,
    open_run as open_run,
    rescore as rescore,
    resume as resume,
    run_audit as run_audit,
)
from .selection import (
    Selection as Selection,
    select as select,
    wanted_benchmarks as wanted_benchmarks,
    with_classifiers as with_classifiers,
)
from .terminal import (
    render_card as render_card,
    render_list as render_list,
    render_plan as render_plan,
)
from .trust import (
    asked_names as asked_names,
    check_options_file as check_options_file,
)
from .view import (
    ViewedResult as ViewedResult,
    benchmark_view as benchmark_view,
)
