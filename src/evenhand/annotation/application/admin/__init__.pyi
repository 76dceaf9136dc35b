from .accounts import (
    first_account as first_account,
    set_password as set_password,
)
from .memory import Memory as Memory
from .routes import router as router
from .served import (
    last_address as last_address,
    remember_address as remember_address,
)
