"""Load the published version of HolisticBias that a benchmark uses: 1.1, or 1.0 if the user gives its folder."""

from pathlib import Path

from evenhand.prompts.datasets import dataset_folder, recognised_version
from evenhand.prompts.holisticbias.sentences import HolisticBias

CURRENT, PAPER = "v1.1", "v1.0"


def published_holisticbias(folder: Path | None, as_published: bool = False) -> HolisticBias:
    """Return the sentences of a published version of HolisticBias, after checking its hashes.

    `folder` contains the files, or a folder v1.0 or v1.1 with them. Their hashes determine the version; the paper uses
    version 1.0. If `folder` is None, version 1.1 is read from the cache. With `as_published`, articles and templates
    are those of the published composer (see `HolisticBias.load`). Raises DatasetMissing if files are missing,
    ChecksumMismatch if they were changed, and the errors of `HolisticBias.load`.
    """
    named = None if folder is None else Path(folder)
    places = () if named is None else (named, named / CURRENT, named / PAPER)
    found = (recognised_version("holisticbias", place) for place in places)
    version = next((name for name in found if name is not None), CURRENT)
    return HolisticBias.load(dataset_folder("holisticbias", version, named), version, as_published)
