"""A Slurm of this machine: the four commands that are asked of it, as scripts on the PATH."""

import sys
from pathlib import Path

SBATCH = '#!/bin/bash\n# sends a script\'s array of tasks to the background, one after the other\nfor word in "$@"; do script="$word"; done\nif grep -q merge_stats '
SRUN = """#!/bin/bash
while [[ "$1" == -* ]]; do [[ "$1" == -n ]] && shift; shift; done
exec "$@"
"""
SQUEUE = """#!/bin/bash
[ -e "{here}/running" ] && echo 1
exit 0
"""
SCONTROL = """#!/bin/bash
echo here
"""


def fake_slurm(folder: Path) -> str:
    """Writes the commands; returns the PATH on which they are found."""
    folder.mkdir()
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "squeue": SQUEUE, "scontrol": SCONTROL}.items():
        script = folder / name
        script.write_text(text.replace("{here}", str(folder)))
        script.chmod(0o755)
    # launch_pickled_pipeline lies beside the interpreter
    return f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
