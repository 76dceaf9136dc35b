from .address import Address as Address
from .forms import (
    TOKEN as TOKEN,
    Form as Form,
    read_form as read_form,
    sent_from_here as sent_from_here,
)
from .gate import Gate as Gate
from .limits import (
    Limiter as Limiter,
    Limits as Limits,
    Rate as Rate,
    find_network as find_network,
)
from .refusals import RequestRefused as RequestRefused
from .signing import Signatures as Signatures
from .untold import (
    in_one_line as in_one_line,
    without_values as without_values,
)
from .whole_bodies import (
    BODY as BODY,
    WholeBodies as WholeBodies,
)
