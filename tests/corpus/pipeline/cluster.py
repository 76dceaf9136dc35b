"""A Slurm of this machine: the four commands that are asked of it, as scripts on the PATH."""

import sys
from pathlib import Path

SBATCH = """#!/bin/bash
# sends a script's array of tasks to the background, one after the other
for word in "$@"; do script="$word"; done
if grep -q merge_stats "$script"; then echo "Submitted batch job 2"; exit 0; fi
echo "$@" >> "{here}/sent"
mine="{here}/script-$$"
cp "$script" "$mine"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$mine")
touch "{here}/running"
(
  for task in $(seq 0 "$last"); do
    SLURM_ARRAY_TASK_ID=$task SLURM_JOB_ID=1 SLURM_NODELIST=here RUN_OFFSET=0 bash "$mine"
  done
  rm "{here}/running"
) > "{here}/output" 2>&1 < /dev/null &
echo "Submitted batch job 1"
"""
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
