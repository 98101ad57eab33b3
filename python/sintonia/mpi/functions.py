"""Functions as they travel: pickled once, and unpickled once by each worker."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import BuiltinFunctionType, FunctionType
from typing import Any, Callable, Optional

from ..errors import SerializationError

#: Number of functions that each side remembers.
N_KEPT_MAX = 256

#: Function with its executor's initializer: number of the executor, pickled initializer with its arguments, pickled function.
Record = tuple[int, Optional[bytes], bytes]


class FunctionTable:
    """Functions that an executor was given, with their numbers. Used under the pool's lock."""

    def __init__(self) -> None:
        self._key_of: OrderedDict[Any, int] = OrderedDict()
        self._by_reference: OrderedDict[tuple[int, int], tuple[Any, int, Record]] = OrderedDict()
        self._n_keys = 0

    def add(self, executor: int, initializer: Optional[bytes], function: Callable[..., Any]) -> tuple[int, Record]:
        """Number and record of a function. What is pickled by its name only is not pickled again."""
        known = self._by_reference.get((executor, id(function)))
        if known is not None:
            return known[1], known[2]
        pickled, is_by_reference = dumps(function)
        record = (executor, initializer, pickled)
        key = self._key_of.get(record)
        if key is None:
            self._n_keys += 1
            key = self._key_of[record] = self._n_keys
        if is_by_reference:
            # The function is kept too, so that its `id` stays its own.
            self._by_reference[executor, id(function)] = (function, key, record)
        _forget_oldest(self._key_of)
        _forget_oldest(self._by_reference)
        return key, record


class LoadedFunctions:
    """Functions that a worker has unpickled."""

    def __init__(self) -> None:
        self._loaded: OrderedDict[int, Any] = OrderedDict()
        self._initialized: dict[int, Optional[BaseException]] = {}

    def get(self, key: int, record: Optional[Record]) -> Callable[..., Any]:
        """The function with this number, after the initializer of its executor.

        Raises what unpickling it raises, and `InitializerError`.
        """
        function = self._loaded.get(key)
        if function is None:
            if record is None:
                raise LookupError(f"function {key} did not reach this worker; this is a bug, please report it")
            executor, initializer, pickled = record
            self._initialize(executor, initializer)
            function = self._loaded[key] = pickle.loads(pickled)
            _forget_oldest(self._loaded)
        return function

    def _initialize(self, executor: int, pickled: Optional[bytes]) -> None:
        if pickled is None:
            return
        if executor not in self._initialized:
            self._initialized[executor] = None
            try:
                initializer, arguments = pickle.loads(pickled)
                initializer(*arguments)
            except BaseException as error:
                self._initialized[executor] = error
        error = self._initialized[executor]
        if error is not None:
            raise InitializerError from error


class InitializerError(Exception):
    """The initializer raised its `__cause__`."""


def dumps(function: Any) -> tuple[bytes, bool]:
    """Pickled function, and whether it is by its name alone; with `cloudpickle`, where it is installed, if it has none."""
    try:
        return pickle.dumps(function, protocol=5), isinstance(function, (FunctionType, BuiltinFunctionType, type))
    except Exception as error:
        try:
            import cloudpickle  # type: ignore[import-untyped]
        except ImportError:
            raise SerializationError(
                f"`{function!r}` cannot be sent: {error}; `pip install cloudpickle` for lambdas and closures, or define it in "
                "the script or a module"
            ) from error
        try:
            return bytes(cloudpickle.dumps(function, protocol=5)), False
        except Exception as cause:
            raise SerializationError(f"`{function!r}` cannot be sent: {cause}") from cause


def _forget_oldest(table: OrderedDict[Any, Any]) -> None:
    if len(table) > N_KEPT_MAX:
        table.popitem(last=False)
