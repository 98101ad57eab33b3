"""Values as one piece of bytes: a pickle of protocol 5, with large buffers such as those of NumPy arrays behind it.

# Format
Number of buffers, length of the pickle, lengths of the buffers, as 8 bytes each; then the pickle and the buffers, each
from a multiple of 16 bytes on.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
import weakref
from typing import Any, Callable, Optional

_ALIGNMENT = 16
_PROTOCOL = 5


def dumps(value: Any) -> bytes:
    """The bytes of a value; each of its buffers is copied once, into them."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=_PROTOCOL, buffer_callback=buffers.append)
    if not buffers:
        return struct.pack("<QQ", 0, len(pickled)) + pickled
    views = [buffer.raw() for buffer in buffers]
    head = struct.pack(f"<{2 + len(views)}Q", len(views), len(pickled), *(view.nbytes for view in views))
    parts: list[Any] = []
    for part in (head, pickled, *views):
        parts += (part, bytes(-len(part) % _ALIGNMENT))
    return b"".join(parts)


def loads(address: int, n_bytes: int, keep: Callable[[int], Optional[int]], release: Callable[[int], None]) -> Any:
    """The value whose bytes lie at this address.

    Its arrays lie where the bytes do, where `keep` can hold them beyond this call; else in a copy.
    """
    memory: Any = (ctypes.c_char * n_bytes).from_address(address)
    n_buffers, n_pickled = struct.unpack_from("<QQ", memory)
    start = 16 + 8 * n_buffers
    if n_buffers == 0:
        return pickle.loads(memoryview(memory)[start : start + n_pickled])
    if keep(address):
        # The last array that lies in it gives the memory back.
        weakref.finalize(memory, release, address).atexit = False
        view = memoryview(memory).cast("B")
    else:
        view = memoryview(bytearray(memory))
    lengths = struct.unpack_from(f"<{n_buffers}Q", view, 16)
    at = _aligned(start)
    pickled = view[at : at + n_pickled]
    at = _aligned(at + n_pickled)
    buffers = []
    for length in lengths:
        buffers.append(view[at : at + length])
        at = _aligned(at + length)
    return pickle.loads(pickled, buffers=buffers)


def _aligned(at: int) -> int:
    return at + -at % _ALIGNMENT
