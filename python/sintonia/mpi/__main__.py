"""Runs a script on rank 0 whose executors call functions on the other ranks."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import types
from typing import Optional

from . import engine, launched, library
from .pool import Pool

_USAGE = """\
usage: mpirun -n N python -m sintonia.mpi [OPTION...] SCRIPT [ARGUMENT...]

Runs SCRIPT on rank 0; its executors (`from sintonia.mpi import Executor`) call functions on the other ranks, which import
SCRIPT: what it does has to stand below `if __name__ == "__main__":`. Without mpirun the calls run on threads.

"""

#: Time in which rank 0 says what is wrong, in seconds.
_AFTER_FIRST_RANK_S = 2.0
#: Exit code after an interruption, as shells have it.
_INTERRUPTED = 130


def main() -> int:
    launched.is_by_module = True
    try:
        script = _command_line(sys.argv[1:])
        if script is None:
            return 0
        engine.options[:] = script.options
        return _lead(script) if launched.rank() == 0 else _serve(script)
    except _Refused as refused:
        _say_on_first_rank(refused)
        return 2
    except library.LibraryError as error:
        _say_on_first_rank(error)
        return 1


def _say_on_first_rank(error: Exception) -> None:
    """Most errors are those of all ranks. Launchers end a job with its first rank, so others leave rank 0 the time for that."""
    if launched.rank() != 0:
        time.sleep(_AFTER_FIRST_RANK_S)
    print(f"sintonia.mpi: {error}", file=sys.stderr)


class _Refused(Exception):
    """The command line is wrong."""


class _Script:
    """A script, its arguments, and the options of the run."""

    def __init__(self, words: list[str], options: engine.Options) -> None:
        self.words = words
        self.options = options
        self._path = words[0]
        try:
            with open(self._path, "rb") as file:
                self._code = compile(file.read(), self._path, "exec")
        except OSError as error:
            raise _Refused(f"the script `{self._path}` cannot be read: {error.strerror}") from error

    def run_as(self, name: str) -> None:
        """Runs the script as the main module, with this name."""
        sys.argv[:] = self.words
        sys.path[0] = os.path.dirname(os.path.abspath(self._path))
        module = types.ModuleType(name)
        module.__file__ = self._path
        module.__builtins__ = __builtins__  # type: ignore[attr-defined]
        # Results of workers name it by the one, and functions for workers by the other.
        sys.modules["__main__"] = sys.modules["__mp_main__"] = module
        exec(self._code, module.__dict__)


def _command_line(words: list[str]) -> Optional[_Script]:
    options: engine.Options = []
    valued = _valued_options()
    while words and words[0].startswith("-"):
        name, is_joined, value = words.pop(0).partition("=")
        if name in ("-h", "--help"):
            if launched.rank() == 0:
                print(_USAGE + str(library.load().mw_options_help().decode()), end="")
            return None
        if not is_joined and name in valued:
            if not words:
                raise _Refused(f"`{name}` has no value; see `python -m sintonia.mpi --help`")
            value, is_joined = words.pop(0), "="
        options.append((name.lstrip("-"), value if is_joined else None))
    if not words:
        raise _Refused("there is no script; write `mpirun -n 4 python -m sintonia.mpi script.py`, or see `--help`")
    return _Script(words, options)


def _valued_options() -> set[str]:
    """Options of the library that have a value, from their description."""
    lines = library.load().mw_options_help().decode().splitlines()
    words = [line.split() for line in lines if line.startswith("  --")]
    return {line[0] for line in words if len(line) > 1 and (line[1].isupper() or "|" in line[1] or "[" in line[1])}


def _lead(script: _Script) -> int:
    """Runs the script, and ends the workers after it."""
    if launched.is_launched():
        try:
            # Modules of the script, such as mpi4py, find MPI begun and do not begin it at the same time.
            engine.get(None).pool.wait_for_begin()
        except engine.OptionError as error:
            raise _Refused(str(error)) from error
    is_wanted = False
    try:
        script.run_as("__main__")
        is_wanted = True
    except SystemExit as end:
        is_wanted = not end.code
        raise
    except KeyboardInterrupt:
        # Python would end itself by a signal, without the end of MPI.
        traceback.print_exc()
        return _INTERRUPTED
    finally:
        failed = engine.close(is_wanted)
    if failed is not None:
        print(f"sintonia.mpi: {failed}", file=sys.stderr)
        return 1
    return 0


def _serve(script: _Script) -> int:
    """Works until the script has ended. An interruption is for rank 0, which ends the others."""
    signal.signal(signal.SIGINT, lambda *_: None)
    try:
        run = engine.Run(Pool(), script.options, lambda: _import(script))
    except engine.OptionError as error:
        raise _Refused(str(error)) from error
    failed = run.run()
    if failed is not None:
        print(f"sintonia.mpi: rank {launched.rank()}: {failed}", file=sys.stderr)
        return 1
    return 0


def _import(script: _Script) -> None:
    """Makes the functions of the script known; not before MPI has begun, as on rank 0: all ranks have to end it in the same way."""
    try:
        script.run_as("__mp_main__")
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
