from .serving import (
    application as application,
    serve as serve,
)
