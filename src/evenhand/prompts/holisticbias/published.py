"""Which published version of HolisticBias a benchmark is asked with: 1.1, or 1.0 where its folder is named."""

from pathlib import Path

from evenhand.prompts.datasets import dataset_folder, recognised_version
from evenhand.prompts.holisticbias.sentences import HolisticBias

CURRENT, PAPER = "v1.1", "v1.0"


def published_holisticbias(folder: Path | None, as_published: bool = False) -> HolisticBias:
    """The sentences of a published version, verified against its hashes.

    folder: of the user; one that holds version 1.0, on which the paper and the published tools stand by default, gives
    that. None takes version 1.1 from the cache. as_published: as in `HolisticBias.load`. Raises what `dataset_folder`
    and `HolisticBias.load` raise.
    """
    named = None if folder is None else Path(folder)
    places = () if named is None else (named, named / CURRENT, named / PAPER)
    found = (recognised_version("holisticbias", place) for place in places)
    version = next((name for name in found if name is not None), CURRENT)
    return HolisticBias.load(dataset_folder("holisticbias", version, named), version, as_published)
