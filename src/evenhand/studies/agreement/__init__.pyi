from .raters import (
    RatersStudy as RatersStudy,
    agreement_of_raters as agreement_of_raters,
)
from .result import (
    AgreementStudy as AgreementStudy,
    classifier_agreement as classifier_agreement,
)
