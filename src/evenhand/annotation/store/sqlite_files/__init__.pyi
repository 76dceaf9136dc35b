from .journal import Journal as Journal
from .looking import look as look
from .opening import (
    BUSY_SECONDS as BUSY_SECONDS,
    WAYS as WAYS,
    Counting as Counting,
    Way as Way,
    open_file as open_file,
)
from .private import (
    APPLICATION as APPLICATION,
    make_private as make_private,
)
from .trouble import (
    cannot_be_used as cannot_be_used,
    is_about_the_disk as is_about_the_disk,
)
