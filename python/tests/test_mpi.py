"""The executor on ranks: `mpirun -n 3 python -m sintonia.mpi tests/test_mpi.py`, or on threads, without the launcher."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import sys
import tempfile
import threading
import unittest

import numpy

from sintonia.errors import RemoteTraceback
from sintonia.mpi import BrokenPool, Executor, MPIPoolExecutor, TaskError

#: Longest wait for what has to come, in seconds.
DEADLINE_S = 30
settings = {}


class Point:
    def __init__(self, x):
        self.x = x


class OddError(Exception):
    """Cannot be pickled and read again: its constructor takes other arguments than it passes on."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Unsendable:
    def __reduce__(self):
        raise TypeError("it stays here")


class Unreadable:
    def __reduce__(self):
        return fail, ("it does not arrive",)


def same(x):
    return x


def square(x):
    return x * x


def add(first, second=0):
    return first + second


def fail(word):
    raise KeyError(word)


def fail_at_7(x):
    return x if x != 7 else fail("seven")


def fail_oddly():
    raise OddError("one", "two")


def stop_iteration(_):
    raise StopIteration


def lock_if_3(x):
    return threading.Lock() if x == 3 else x


def point(x):
    return Point(x)


def set_up(name, value):
    settings[name] = value


def setting(name):
    return settings.get(name)


def wait_for_end_of(path):
    """Waits until a pipe is closed by those who write."""
    with open(path, "rb") as pipe:
        return pipe.read()


def smaller_trees(height, add):
    """A tree of this height has two smaller ones below it."""
    for less in range(1, min(height, 2) + 1):
        add(height - less)
    return height


def heights(height):
    below = [one for less in range(1, min(height, 2) + 1) for one in heights(height - less)]
    return [height, *below]


def visit_until_3(height, add):
    add(height - 1)
    return height if height > 3 else fail("three")


def double(array):
    return 2 * array


class OnRanks(unittest.TestCase):
    def setUp(self):
        self.pool = self.enterContext(Executor()) if hasattr(self, "enterContext") else Executor()

    def test_a_map_gives_results_in_order(self):
        squares = [x * x for x in range(5000)]
        for chunksize in (1, 7, 10000):
            self.assertEqual(list(self.pool.map(square, range(5000), chunksize=chunksize)), squares)
        self.assertEqual(sorted(self.pool.map(square, range(5000), unordered=True)), squares)
        self.assertEqual(list(self.pool.map(add, [1, 2], iter([3, 4, 5]))), [4, 6])
        self.assertEqual(list(self.pool.starmap(add, [(1,), (2, 3)], chunksize=2)), [1, 5])
        self.assertEqual(list(self.pool.map(square, [])), [])
        with self.assertRaisesRegex(ValueError, "`chunksize` must be at least 1"):
            self.pool.map(square, [1], chunksize=0)

    def test_a_submitted_call_has_a_future(self):
        futures = [self.pool.submit(add, x, second=1) for x in range(300)]
        done = concurrent.futures.as_completed(futures, DEADLINE_S)
        self.assertEqual(sorted(future.result() for future in done), list(range(1, 301)))
        called = threading.Event()
        future = self.pool.submit(square, 3)
        future.add_done_callback(lambda _: called.set())
        self.assertTrue(called.wait(DEADLINE_S))
        self.assertFalse(future.cancel())

    def test_items_that_add_items_are_all_visited(self):
        results = self.pool.bag(smaller_trees, [15, 3], timeout=DEADLINE_S)
        self.assertEqual(sorted(results), sorted(heights(15) + heights(3)))
        self.assertEqual(list(self.pool.bag(smaller_trees, [])), [])
        with self.assertRaises(KeyError):
            list(self.pool.bag(visit_until_3, [5], timeout=DEADLINE_S))

    def test_a_call_has_a_priority_and_a_place(self):
        first = self.pool.submit(square, 3, priority=2)
        self.assertEqual(first.result(DEADLINE_S), 9)
        calls = [self.pool.submit(square, x, near=first, priority=-x) for x in range(5)]
        self.assertEqual([call.result(DEADLINE_S) for call in calls], [0, 1, 4, 9, 16])
        self.assertEqual(list(self.pool.map(square, range(5), priority=1)), [0, 1, 4, 9, 16])

    def test_a_callback_may_submit(self):
        later = []
        arrived = threading.Event()

        def go_on(future):
            later.append(self.pool.submit(square, future.result()))
            arrived.set()

        self.pool.submit(square, 2).add_done_callback(go_on)
        self.assertTrue(arrived.wait(DEADLINE_S))
        self.assertEqual(later[0].result(DEADLINE_S), 16)

    def test_exceptions_come_back_with_their_traceback(self):
        error = self.pool.submit(fail, "word").exception(DEADLINE_S)
        self.assertEqual(repr(error), "KeyError('word')")
        self.assertIsInstance(error.__cause__, RemoteTraceback)
        self.assertIn("in fail\n    raise KeyError(word)", str(error.__cause__))
        results = self.pool.map(fail_at_7, range(100))
        self.assertEqual([next(results) for _ in range(7)], list(range(7)))
        with self.assertRaisesRegex(KeyError, "seven"):
            next(results)
        odd = self.pool.submit(fail_oddly).exception(DEADLINE_S)
        self.assertEqual((type(odd), str(odd)), (TaskError, "OddError: one and two"))
        self.assertEqual(repr(self.pool.submit(sys.exit, 4).exception(DEADLINE_S)), "SystemExit(4)")
        with self.assertRaisesRegex(RuntimeError, "raised `StopIteration`"):
            list(self.pool.map(stop_iteration, range(3)))

    def test_what_cannot_be_sent_spoils_nothing_else(self):
        sent = [1, Unsendable(), 2, Unreadable(), 3]
        ends = [future.exception(DEADLINE_S) or future.result() for future in [self.pool.submit(same, x) for x in sent]]
        self.assertEqual(list(map(repr, ends)), ["1", "TypeError('it stays here')", "2", "KeyError('it does not arrive')", "3"])
        results = self.pool.map(lock_if_3, range(5))
        self.assertEqual([next(results) for _ in range(3)], [0, 1, 2])
        with self.assertRaisesRegex(TypeError, "cannot pickle"):
            next(results)

    def test_classes_and_closures_of_the_script_are_known(self):
        offset = 5
        self.assertIsInstance(self.pool.submit(point, 3).result(DEADLINE_S), Point)
        self.assertEqual([p.x for p in self.pool.map(same, [Point(1), Point(2)])], [1, 2])
        self.assertEqual(list(self.pool.map(lambda x: x + offset, range(3))), [5, 6, 7])

    def test_arrays_are_sent_as_they_are(self):
        array = numpy.arange(200_000.0)
        doubled = list(self.pool.map(double, [array, array[::2], array[:3]]))
        gc.collect()
        for found, sent in zip(doubled, [array, array[::2], array[:3]]):
            numpy.testing.assert_array_equal(found, 2 * sent)
            found[0] = -1.0
        part = self.pool.submit(same, array).result(DEADLINE_S)[10:20]
        gc.collect()
        numpy.testing.assert_array_equal(part, array[10:20])

    def test_an_initializer_comes_first(self):
        with Executor(initializer=set_up, initargs=("here", 5)) as pool:
            self.assertEqual(set(pool.map(setting, ["here"] * 50)), {5})
        with Executor(initializer=fail, initargs=("no device",)) as pool:
            with self.assertRaises(BrokenPool) as raised:
                pool.submit(square, 1).result(DEADLINE_S)
            self.assertEqual(repr(raised.exception.__cause__), "KeyError('no device')")
            with self.assertRaisesRegex(concurrent.futures.BrokenExecutor, "initializer of the executor failed"):
                pool.submit(square, 1)
        self.assertEqual(self.pool.submit(square, 2).result(DEADLINE_S), 4)

    def test_calls_that_wait_are_canceled(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pipe")
            os.mkfifo(path)
            first = [self.pool.submit(wait_for_end_of, path) for _ in range(self.pool.num_workers)]
            # Returns once a worker reads.
            gate = os.open(path, os.O_WRONLY)
            waiting = [self.pool.submit(wait_for_end_of, path) for _ in range(50)]
            with self.assertRaises(concurrent.futures.TimeoutError):
                list(self.pool.map(wait_for_end_of, [path], timeout=0.001))
            canceled = [future for future in waiting if future.cancel()]
            self.assertGreater(len(canceled), 25)
            others = Executor()
            more = others.submit(wait_for_end_of, path)
            others.shutdown(wait=False, cancel_futures=True)
            with self.assertRaisesRegex(RuntimeError, "after shutdown"):
                others.submit(square, 1)
            os.close(gate)
            begun = [future for future in [*first, *waiting, more] if not future.cancelled()]
            self._end(path, begun)
            self.assertEqual({future.result() for future in begun}, {b""})
            with self.assertRaises(concurrent.futures.CancelledError):
                canceled[0].result()

    def _end(self, path, futures):
        """Opens the pipe and closes it for those who come later, until all have ended."""
        while concurrent.futures.wait(futures, timeout=0.001).not_done:
            os.close(os.open(path, os.O_RDWR))

    def test_names_are_those_of_mpi4py(self):
        self.assertIs(MPIPoolExecutor, Executor)
        self.assertIs(self.pool.bootup(), self.pool)
        self.assertGreaterEqual(self.pool.num_workers, 1)


if __name__ == "__main__":
    unittest.main()
