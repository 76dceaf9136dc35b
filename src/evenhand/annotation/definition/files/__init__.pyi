from .located import (
    read_located as read_located,
)
from .reading import (
    StudyError as StudyError,
    read_study as read_study,
)
from .writing import (
    study_yaml as study_yaml,
    write_study as write_study,
)
