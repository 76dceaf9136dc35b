from .agreement import (
    AgreementStudy as AgreementStudy,
    classifier_agreement as classifier_agreement,
)
from .terminal import (
    render_agreement as render_agreement,
    render_planned_continuations as render_planned_continuations,
    write_agreement_json as write_agreement_json,
)
