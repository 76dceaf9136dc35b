from .admin import (
    first_account as first_account,
    last_address as last_address,
    remember_address as remember_address,
    set_password as set_password,
)
from .serving import (
    application as application,
    invite_link as invite_link,
    serve as serve,
)
