from .classified_text import (
    MASKED_DESCRIPTOR as MASKED_DESCRIPTOR,
    UNSAFE as UNSAFE,
    ClassifiedText as ClassifiedText,
    check_prompts as check_prompts,
    classified_texts as classified_texts,
)
from .contract import (
    Classifier as Classifier,
    Labels as Labels,
)
from .loading import (
    CLASSIFIERS as CLASSIFIERS,
    asks_service as asks_service,
    classifier_cards as classifier_cards,
    classifier_names as classifier_names,
    file_kind as file_kind,
    load_classifier as load_classifier,
)
from .offline import (
    describe_offline as describe_offline,
    load_or_advise as load_or_advise,
    offline_for as offline_for,
)
