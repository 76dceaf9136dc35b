"""Nobody else reads a database, whatever mode it had."""

from pathlib import Path

from evenhand.annotation.store import begin_study
from tests.annotation.store.persons import come, study


def test_what_others_could_read_is_kept_from_them(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    store = begin_study(file, study(2))
    come(store)
    parts = [Path(f"{file}{ending}") for ending in ("", "-wal", "-shm")]
    for part in parts:
        assert part.stat().st_mode & 0o777 == 0o600
        part.chmod(0o664)
    again = begin_study(file, study(2))
    assert [part.stat().st_mode & 0o777 for part in parts] == [0o600] * 3
    again.close()
    store.close()
