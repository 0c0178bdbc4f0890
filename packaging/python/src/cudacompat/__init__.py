"""Whether the CUDA stack of this machine will work: the program ``cudacompat``, from Python.

>>> import cudacompat
>>> cudacompat.doctor()["outcome"] in ("compatible", "incompatible", "inconclusive")
True
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, Iterator, Optional

__all__ = ["Error", "binary", "doctor"]

# compatible, incompatible and inconclusive: with any other code there is no report.
_JUDGED = (0, 1, 3)


class Error(RuntimeError):
    """The program could not be run, or refused what it was asked."""


def doctor(*args: str, timeout: Optional[float] = None) -> Dict[str, Any]:
    """Judge this machine and the environment of this interpreter; return the report (cudacompat/report/v1).

    ``args`` are those of ``cudacompat doctor``, such as ``"--instance", "g5.xlarge"``; ``--env``, ``--root`` or
    ``--offline`` among them say what to look at instead. ``timeout`` bounds the whole run, in seconds.
    """
    command = [binary(), "doctor", "-o", "json", *args]
    if not any(arg.split("=")[0] in ("--env", "--root", "--offline") for arg in args):
        command += ["--env", sys.prefix]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise Error(f"cudacompat: {err}") from err
    if done.returncode not in _JUDGED:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise Error(message or f"cudacompat: ended with {done.returncode}")
    report: Dict[str, Any] = json.loads(done.stdout)
    return report


def binary() -> str:
    """Return the path of the program that this package was installed with."""
    name = "cudacompat" + (sysconfig.get_config_var("EXE") or "")
    for directory in _script_directories():
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            return path
    found = shutil.which(name)
    if found:
        return found
    raise Error(f"cudacompat: the program {name} is not where pip puts scripts; install the package again")


def _script_directories() -> Iterator[str]:
    """Where an installer may have put it: the environment's scripts, those of ``--user``, of ``--target``."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", "nt_user" if os.name == "nt" else "posix_user")
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
