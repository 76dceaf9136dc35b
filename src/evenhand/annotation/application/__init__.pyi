from .serving import (
    application as application,
    invite_link as invite_link,
    serve as serve,
)
