from .making import (
    AskedPrompts as AskedPrompts,
    asked_about as asked_about,
)
from .reading import (
    read_own as read_own,
)
from .review import (
    read_review as read_review,
    write_review as write_review,
)
