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
import warnings
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Union

__all__ = ["Error", "Incompatible", "binary", "check", "doctor", "require_compatible", "torch_index_url"]

# compatible, incompatible and inconclusive: with any other code there is no report.
_JUDGED = (0, 1, 3)


class Error(RuntimeError):
    """The program could not be run, or refused what it was asked."""


class Incompatible(Error):
    """Something does not work: the text is the finding with what to do; ``report`` is the whole answer."""

    def __init__(self, message: str, report: Dict[str, Any]) -> None:
        super().__init__(message)
        self.report = report


Requirements = Union[str, "os.PathLike[str]", Iterable[str]]


def doctor(*args: str, timeout: Optional[float] = None) -> Dict[str, Any]:
    """Judge this machine and the environment of this interpreter; return the report (cudacompat/report/v1).

    ``args`` are those of ``cudacompat doctor``, such as ``"--instance", "g5.xlarge"``; ``--env``, ``--root`` or
    ``--offline`` among them say what to look at instead. ``timeout`` bounds the whole run, in seconds.
    """
    command = [binary(), "doctor", "-o", "json", *args]
    if not any(arg.split("=")[0] in ("--env", "--root", "--offline") for arg in args):
        command += ["--env", sys.prefix]
    return _run(command, None, timeout)


def check(
    requirements: Requirements,
    *,
    driver: Optional[str] = None,
    gpu: Union[str, Sequence[str], None] = None,
    python: Optional[str] = None,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """Judge requirements for a machine, without installing them; return the report (cudacompat/report/v1).

    ``requirements`` are lines such as ``"torch==2.9.0"``, one text or several, or the path of a file (``os.PathLike``)
    that ``cudacompat check`` reads. ``driver`` is a version (``"550.90.07"``), ``gpu`` a name or compute capability
    (``"L4"``, ``"9.0"``), or several; ``python`` defaults to this interpreter's version. Without a driver and a GPU the
    outcome is inconclusive. ``timeout`` is in seconds. Raises ``Error`` where the program refuses what it was given.
    """
    text: Optional[str] = None
    if isinstance(requirements, os.PathLike):
        name = os.path.abspath(os.fspath(requirements))
    else:
        name, text = "-", requirements if isinstance(requirements, str) else "\n".join(requirements)
    return _run([binary(), "check", name, "-o", "json", *_target(driver, gpu, python)], text, timeout)


def require_compatible(
    requirements: Optional[Requirements] = None,
    *,
    driver: Optional[str] = None,
    gpu: Union[str, Sequence[str], None] = None,
    unknown: bool = False,
    timeout: Optional[float] = None,
) -> None:
    """Raise ``Incompatible``, with the finding and what to do, where something does not work; return nothing otherwise.

    Without ``requirements`` this interpreter's environment is judged on this machine, or on that of ``driver`` and
    ``gpu``. What cannot be determined passes with a ``RuntimeWarning``; if ``unknown`` is true, it raises.
    """
    if requirements is None:
        target = _target(driver, gpu, None)
        report = doctor(*target, timeout=timeout)
    else:
        report = check(requirements, driver=driver, gpu=gpu, timeout=timeout)
    if report["outcome"] == "incompatible":
        raise Incompatible(_said(report["findings"][0]), report)
    if report["outcome"] == "inconclusive":
        missing = [f"{u['subject']}: {u['missing']}" for u in report["unknown"]]
        text = "cannot be determined: " + (missing[0] if missing else "there is no GPU, or nothing that uses one")
        if unknown:
            raise Incompatible(text, report)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def torch_index_url(
    driver: str,
    gpu: Union[str, Sequence[str]],
    *,
    torch: Optional[str] = None,
    python: Optional[str] = None,
    timeout: Optional[float] = None,
) -> str:
    """Return the package index of the PyTorch builds for a driver and a GPU, ``"https://download.pytorch.org/whl/cu126"``.

    It has the newest release that runs there, or the one nearest to ``torch`` (``"2.9"``). Raises ``Incompatible`` with
    the reason where no build in the tables runs.
    """
    want = "torch" if torch is None else f"torch=={torch}"
    sets = _run(
        [binary(), "pins", "--want", want, "--choice", "keep-driver", "-o", "json", *_target(driver, gpu, python)],
        None,
        timeout,
    )
    if not sets["sets"]:
        raise Incompatible(sets["missing"][0]["why"], sets)
    url: str = sets["sets"][0]["index"]
    return url


def _target(driver: Optional[str], gpu: Union[str, Sequence[str], None], python: Optional[str]) -> List[str]:
    """Return the flags of one machine. Several GPUs are in it together. A named machine has this Python's version."""
    flags = []
    if driver is not None:
        flags.append(f"--driver={driver}")
    if gpu is not None:
        flags.append("--gpu=" + (gpu if isinstance(gpu, str) else "+".join(gpu)))
    if python is not None or flags:
        flags.append("--python=" + (python or f"{sys.version_info[0]}.{sys.version_info[1]}"))
    return flags


def _said(finding: Dict[str, Any]) -> str:
    """A finding in one text: what is wrong, what is needed, and the first thing to do."""
    text = f"{finding['subject']}: {finding['message']}"
    if finding["need"]:
        text += f"; needs {finding['need']}"
    commands = [pin["commands"].get("pip") or pin["commands"].get("uv") for pin in finding["pins"]]
    steps = [step["run"] or step["say"] for step in finding["steps"]]
    todo = [step for step in commands + steps if step]
    return text + (f"\nfix: {todo[0]}" if todo else "")


def _run(command: List[str], text: Optional[str], timeout: Optional[float]) -> Dict[str, Any]:
    """Run the program and return the JSON that it writes."""
    given: Dict[str, Any] = {"stdin": subprocess.DEVNULL} if text is None else {"input": text.encode()}
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False, **given)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise Error(f"cudacompat: {err}") from err
    if done.returncode not in _JUDGED or not done.stdout:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise Error(message or f"cudacompat: ended with {done.returncode}")
    answer: Dict[str, Any] = json.loads(done.stdout)
    return answer


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
