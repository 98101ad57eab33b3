"""The master/worker library as `ctypes` sees it: its structs and functions, and where it is found.

The structs are those of `master_worker.h`, in the order of that file.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Optional

from ..errors import SintoniaError

#: Environment variable with the path of the library.
VARIABLE = "SINTONIA_MASTER_WORKER"
_FILE = "libmaster_worker.so"


class LibraryError(SintoniaError, OSError):
    """The library is missing, or is of another version."""


class Tasks(Structure):
    """Range of tasks."""

    _fields_ = [("start", c_uint64), ("end", c_uint64)]


class Hint(Structure):
    """Wish for some tasks."""

    _fields_ = [("tasks", Tasks), ("priority", c_int32), ("near", c_uint32)]


#: Returns the address of hints; a callback cannot return a typed pointer.
HINTS = CFUNCTYPE(c_void_p, c_void_p, Tasks, POINTER(c_size_t))


class Plan(Structure):
    """Plan of an iteration."""

    _fields_ = [
        ("n_tasks", c_uint64),
        ("priorities", c_void_p),
        ("n_priorities", c_size_t),
        ("n_arrived", POINTER(c_uint64)),
        ("hints", HINTS),
        ("keeps_places", c_bool),
    ]


class Bytes(Structure):
    """Bytes in memory."""

    _fields_ = [("data", c_void_p), ("n_bytes", c_size_t)]


INIT = CFUNCTYPE(c_int, c_void_p, c_uint32)
NEXT = CFUNCTYPE(c_int, c_void_p, c_uint64, POINTER(Plan), c_void_p)
INPUT = CFUNCTYPE(c_int, c_void_p, Tasks, c_void_p)
WORK = CFUNCTYPE(c_int, c_void_p, Tasks, Bytes, Bytes, c_void_p)
RECOVER = CFUNCTYPE(c_int, c_void_p, Tasks, Bytes)


class Program(Structure):
    """A program; functions that this package leaves out are untyped."""

    _fields_ = [
        ("state", c_void_p),
        ("n_state_bytes", c_size_t),
        ("n_iterations", c_uint64),
        ("master_init", c_void_p),
        ("worker_init", INIT),
        ("master_next", NEXT),
        ("master_input", INPUT),
        ("worker_work", WORK),
        ("master_recover", RECOVER),
        ("master_is_settled", c_void_p),
        ("master_end_iteration", c_void_p),
        ("master_save", c_void_p),
        ("master_restore", c_void_p),
        ("worker_final", c_void_p),
        ("master_final", c_void_p),
    ]


_SIGNATURES = {
    "mw_lend": (c_int, [c_void_p, c_char_p, c_size_t]),
    "mw_keep": (c_void_p, [c_void_p]),
    "mw_release": (None, [c_void_p]),
    "mw_fail": (c_int, [c_char_p]),
    "mw_last_error": (c_char_p, []),
    "mw_options_new": (c_void_p, []),
    "mw_options_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "mw_options_help": (c_char_p, []),
    "mw_cancel": (None, [c_void_p]),
    "mw_run_with": (c_int, [POINTER(Program), c_void_p]),
}
_loaded: Optional[ctypes.CDLL] = None


def load() -> ctypes.CDLL:
    """The library, which is looked for once.

    Raises `LibraryError` where there is none, or one without a function that is needed.
    """
    global _loaded
    if _loaded is None:
        path = _path()
        try:
            library = ctypes.CDLL(path)
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
        except AttributeError as error:
            raise LibraryError(f"`{path}` is of another version: {error}; install it anew with `make install`") from error
        except OSError as error:
            raise LibraryError(
                f"the master/worker library cannot be loaded: {error}; install it with `make install`, or name the file "
                f"`{_FILE}` in `{VARIABLE}`"
            ) from error
        _loaded = library
    return _loaded


def _path() -> str:
    """Path of the library: as named, in the checkout that this file belongs to, or as the system finds it."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    built = os.path.join(checkout, "target", "release", _FILE)
    if os.path.exists(built):
        return built
    installed = os.path.join("/usr/local/lib", _FILE)
    return ctypes.util.find_library("master_worker") or (installed if os.path.exists(installed) else _FILE)
