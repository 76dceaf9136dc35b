from .result import (
    AgreementStudy as AgreementStudy,
    classifier_agreement as classifier_agreement,
)
