from . import upgrading as upgrading
