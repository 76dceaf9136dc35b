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
    CountedAnswer as CountedAnswer,
    list_counted_answers as list_counted_answers,
)
from .steps import (
    AskConsent as AskConsent,
    AskSurvey as AskSurvey,
    EndVisit as EndVisit,
    ShowCorrection as ShowCorrection,
    ShowItem as ShowItem,
    Step as Step,
    UnitDone as UnitDone,
)
from .store import (
    Store as Store,
    begin_study as begin_study,
    open_store as open_store,
)
