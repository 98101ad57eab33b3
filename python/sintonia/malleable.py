"""Programs on ranks whose number changes while they run: mpi4py and NumPy over the C library `libsintonia_malleable`.

    from sintonia.malleable import Malleable

    run = Malleable()
    share = run.rows_of(n_rows)
    heat = run.rows("heat", "f8")
    run.each_size(make_links, free_links)
    if not run.is_new:
        heat.array = numpy.zeros(share.n_rows)
    for iteration in run.iterate(n_iterations):
        step(heat.array, share, run.comm)
    if not run.has_left:
        show(heat.array, run.comm)
    run.end()

`include/malleable.h` says what each call does. Options are taken from `sys.argv`. Import this module before mpi4py, so that the library
begins MPI, and before NumPy: OpenBLAS is told to start no threads unless `OPENBLAS_NUM_THREADS` says otherwise, since the library makes
the settings that an MPI library needs only while there is one thread. Wants mpi4py 4 and NumPy; the library is found as the linker
finds it, or at the path in `SINTONIA_MALLEABLE_LIBRARY`.
"""

import ctypes
import math
import os
import pickle
import sys

import mpi4py

mpi4py.rc.initialize = False
mpi4py.rc.finalize = False
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy  # noqa: E402
from mpi4py import MPI  # noqa: E402

__all__ = ["Array", "Malleable", "MalleableError", "Share", "EVEN", "WEIGHTED", "ALIGNED", "CYCLIC", "BLOCKS_2D"]

EVEN, WEIGHTED, ALIGNED, CYCLIC, BLOCKS_2D = range(5)
_CONTINUE, _RESIZED, _LEFT = range(3)

_Address = ctypes.c_void_p
_Size = ctypes.c_size_t
_Hook = ctypes.CFUNCTYPE(None, _Address, _Address)
_Pack = ctypes.CFUNCTYPE(_Size, ctypes.c_uint64, _Address, _Address)
_Unpack = ctypes.CFUNCTYPE(None, ctypes.c_uint64, _Address, _Size, _Address)
_Start = ctypes.CFUNCTYPE(_Address, _Address)
_Length = ctypes.CFUNCTYPE(_Size, _Address)
_Resize = ctypes.CFUNCTYPE(_Address, _Address, _Size)


class MalleableError(RuntimeError):
    """The library refused a call, or the ranks cannot continue together."""


class Share(ctypes.Structure):
    """Rows of this rank: `first`, and `n_rows` of them. A resize changes it."""

    _fields_ = [("first", ctypes.c_uint64), ("n_rows", ctypes.c_uint64)]


class _Container(ctypes.Structure):
    _fields_ = [
        ("container", _Address),
        ("element_bytes", _Size),
        ("start", _Start),
        ("length", _Length),
        ("resize", _Resize),
    ]


class Array:
    """Holds `array`, a NumPy array with a row for each row of this rank; a resize puts another one there."""

    def __init__(self, dtype, shape, guarded):
        self._dtype, self._shape = numpy.dtype(dtype), tuple(shape)
        self.array = numpy.empty((0, *self._shape), self._dtype)
        element_bytes = self._dtype.itemsize * math.prod(self._shape)
        start, length, resize = (guarded(function, 0) for function in (self._start, self._length, self._resize))
        # Any address that is not null names the container: its functions know it.
        self._container = _Container(1, element_bytes, _Start(start), _Length(length), _Resize(resize))

    def _start(self, _container):
        array = self.array
        if array.dtype != self._dtype or array.shape[1:] != self._shape or not array.flags.c_contiguous:
            own = f"{self._dtype} of shape {self._shape}, row by row"
            raise TypeError(f"each row was registered as {own}, and is {array.dtype} of shape {array.shape[1:]}")
        return array.ctypes.data

    def _length(self, _container):
        return len(self.array)

    def _resize(self, _container, n_rows):
        self.array = numpy.empty((n_rows, *self._shape), self._dtype)
        return self.array.ctypes.data


class Malleable:
    """Program that changes its number of ranks while it runs, as seen by one of its processes.

    `words` are the program's own defaults of options, such as `"--sizes 2:8"`.
    """

    def __init__(self, words=""):
        self._library = _library()
        self._kept = []
        self._thrown = None
        self._code = _CONTINUE
        arguments = [os.fsencode(word) for word in sys.argv]
        argv = (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None)
        argc = ctypes.c_int(len(arguments))
        at = ctypes.pointer(argv)
        self._program = self._library.malleable_begin_with(words.encode(), ctypes.byref(argc), ctypes.byref(at))
        if not self._program:
            raise MalleableError(self._message())
        sys.argv[:] = [os.fsdecode(argv[place]) for place in range(argc.value)]

    @property
    def is_new(self):
        """Whether the data arrive at the first resize point, so that this process must not create them."""
        return bool(self._library.malleable_is_new(self._program))

    @property
    def has_left(self):
        """Whether this process is no longer needed."""
        return self._code == _LEFT

    @property
    def is_resized(self):
        """Whether the last resize point changed the rows and the communicator."""
        return self._code == _RESIZED

    @property
    def comm(self):
        """Communicator of the present ranks, which belongs to the library; a resize replaces it."""
        return MPI.Comm.fromhandle(self._library.malleable_handle(self._program))

    def iterate(self, n_iterations):
        """Yields the iterations of this rank, with a resize point before each."""
        iteration = ctypes.c_uint64(0)
        while iteration.value < n_iterations:
            self._code = self._library.malleable_resize_point(self._program, ctypes.byref(iteration))
            self._raise_thrown()
            if self._code > _LEFT:
                raise MalleableError(self._message())
            if self._code == _LEFT:
                return
            yield iteration.value
            iteration.value += 1

    def end(self):
        """Ends the program; all processes call it."""
        program, self._program = self._program, None
        code = self._library.malleable_end(program)
        self._raise_thrown()
        self._check(code)

    def rows_of(self, n_rows, cut=EVEN, parameter=0):
        """Sets the partition of the rows that are registered next; returns the rows of this rank, now and later."""
        share = self._keep(Share())
        self._check(self._library.malleable_rows_of(self._program, n_rows, cut, parameter, ctypes.byref(share)))
        return share

    def rows(self, name, dtype, shape=(), constant=False):
        """Registers an array with an element of this shape for each row; the program sets `array` of the result."""
        array = self._array(dtype, shape)
        rows = ctypes.byref(array._container)
        self._check(self._library.malleable_contained_rows(self._program, name.encode(), constant, rows))
        return array

    def uneven_rows(self, name, *dtypes, constant=False):
        """Registers arrays whose rows have different numbers of elements: returns the array of these numbers, as `u4`,
        and one for each type; the columns and the values of a sparse matrix are two."""
        lengths, *entries = (self._array(dtype, ()) for dtype in ("u4", *dtypes))
        containers = (_Container * len(entries))(*(array._container for array in entries))
        first = ctypes.byref(lengths._container)
        self._check(
            self._library.malleable_contained_uneven(
                self._program, name.encode(), constant, first, containers, len(entries)
            )
        )
        return lengths, *entries

    def packed_rows(self, name, share, dumps=pickle.dumps, loads=pickle.loads):
        """Registers a list with any object for each row of this share, which travels as bytes; returns the list."""
        rows = []
        packed = {}

        def pack(row, room, _context):
            if not room:
                packed[row] = dumps(rows[row])
                return len(packed[row])
            ctypes.memmove(room, packed[row], len(packed[row]))
            return len(packed.pop(row))

        def unpack(row, start, n_bytes, _context):
            if row == 0:
                rows[:] = [None] * share.n_rows
            rows[row] = loads(ctypes.string_at(start, n_bytes))

        pack, unpack = self._keep(_Pack(self._guarded(pack, 0))), self._keep(_Unpack(self._guarded(unpack)))
        self._check(self._library.malleable_packed_rows(self._program, name.encode(), pack, unpack, None))
        return rows

    def each_size(self, begins=None, ends=None):
        """Has functions called with each size, by all ranks together: when a number of ranks begins, and when it ends."""

        def hook(function):
            if function is None:
                return _Hook()
            return self._keep(_Hook(self._guarded(lambda _program, _context: function())))

        self._check(self._library.malleable_each_size(self._program, hook(begins), hook(ends), None))

    def _array(self, dtype, shape):
        return self._keep(Array(dtype, shape, self._guarded))

    def _keep(self, thing):
        self._kept.append(thing)
        return thing

    def _guarded(self, function, otherwise=None):
        """Keeps an exception, which must not leave a function that the library calls, until the library returns."""

        def call(*arguments):
            try:
                return function(*arguments)
            except BaseException as error:
                self._thrown = self._thrown or error
                return otherwise

        return call

    def _raise_thrown(self):
        thrown, self._thrown = self._thrown, None
        if thrown is not None:
            raise thrown

    def _message(self):
        return self._library.malleable_message().decode()

    def _check(self, code):
        if code:
            raise MalleableError(self._message())


def _library():
    """Loads the C library, and says how its functions are called."""
    library = ctypes.CDLL(os.environ.get("SINTONIA_MALLEABLE_LIBRARY", "libsintonia_malleable.so"))
    of_address = [_Address]
    for name, result, arguments in [
        ("begin_with", _Address, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), _Address]),
        ("is_new", ctypes.c_bool, of_address),
        ("resize_point", ctypes.c_int, [_Address, ctypes.POINTER(ctypes.c_uint64)]),
        ("handle", _Size, of_address),
        ("end", ctypes.c_int, of_address),
        ("message", ctypes.c_char_p, []),
        ("rows_of", ctypes.c_int, [_Address, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64, _Address]),
        ("contained_rows", ctypes.c_int, [_Address, ctypes.c_char_p, ctypes.c_bool, _Address]),
        ("contained_uneven", ctypes.c_int, [_Address, ctypes.c_char_p, ctypes.c_bool, _Address, _Address, _Size]),
        ("packed_rows", ctypes.c_int, [_Address, ctypes.c_char_p, _Pack, _Unpack, _Address]),
        ("each_size", ctypes.c_int, [_Address, _Hook, _Hook, _Address]),
    ]:
        function = getattr(library, f"malleable_{name}")
        function.restype, function.argtypes = result, arguments
    return library
