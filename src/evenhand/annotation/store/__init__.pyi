from . import (
    administration as administration,
    people as people,
    sittings as sittings,
)
from .administration import (
    PersonRow as PersonRow,
    Progress as Progress,
    Review as Review,
)
from .connecting import shown_address as shown_address
from .failures import (
    InviteRefused as InviteRefused,
    LeaseLost as LeaseLost,
    StoreBusy as StoreBusy,
)
from .people import Invite as Invite
from .rows import (
    Counted as Counted,
    counted as counted,
)
from .steps import (
    AskConsent as AskConsent,
    AskSurvey as AskSurvey,
    Corrected as Corrected,
    Ended as Ended,
    Shown as Shown,
    Step as Step,
    UnitDone as UnitDone,
)
from .store import (
    Store as Store,
    begin_study as begin_study,
    open_store as open_store,
)
