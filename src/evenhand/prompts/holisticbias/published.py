"""Which published version of HolisticBias a benchmark is asked with: 1.1, or 1.0 where its folder is named."""

from pathlib import Path

from evenhand.prompts.datasets import dataset_folder, recognised_version
from evenhand.prompts.holisticbias.sentences import HolisticBias

CURRENT, PAPER = "v1.1", "v1.0"


def published_holisticbias(folder: Path | None, as_published: bool = False) -> HolisticBias:
    """Return the sentences of a published version of HolisticBias, after checking its hashes.

    `folder` is your own; version 1.0, which the paper uses, is recognised. None uses version 1.1 from the cache.
    `as_published` is as in `HolisticBias.load`. Raises the errors of `dataset_folder` and `HolisticBias.load`.
    """
    named = None if folder is None else Path(folder)
    places = () if named is None else (named, named / CURRENT, named / PAPER)
    found = (recognised_version("holisticbias", place) for place in places)
    version = next((name for name in found if name is not None), CURRENT)
    return HolisticBias.load(dataset_folder("holisticbias", version, named), version, as_published)
