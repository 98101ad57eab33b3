"""Parts of the executor on ranks that need neither ranks nor the library."""

from __future__ import annotations

import ctypes
import gc
import pickle
import unittest
from unittest import mock

import numpy

from sintonia.errors import SerializationError
from sintonia.mpi import blobs, library, worker
from sintonia.mpi.chunks import Form, Outcome, Segment
from sintonia.mpi.functions import FunctionTable, LoadedFunctions
from sintonia.mpi.pool import Pool
from sintonia.mpi.work import Call, Mapping

from .helpers import add


def _add(pool, work):
    with pool.lock:
        pool.add(work)


def _run(*segments):
    return worker.Run(lambda segment: [abs, add][segment.function]).run(list(segments))


class Parts(unittest.TestCase):
    def test_buffers_are_read_from_where_they_lie(self):
        array = numpy.arange(1000.0)
        memory = ctypes.create_string_buffer(blobs.dumps([array, "x"]))
        address = ctypes.addressof(memory)
        released = []
        found, word = blobs.loads(address, len(memory) - 1, lambda kept: kept, released.append)
        numpy.testing.assert_array_equal(found, array)
        self.assertEqual((word, found.flags.writeable), ("x", True))
        self.assertTrue(address < found.ctypes.data < address + len(memory))
        part = found[10:12]
        del found
        gc.collect()
        self.assertEqual(released, [])
        del part
        gc.collect()
        self.assertEqual(released, [address])
        copied, _ = blobs.loads(address, len(memory) - 1, lambda _: None, released.append)
        ctypes.memset(memory, 0, len(memory))
        numpy.testing.assert_array_equal(copied, array)

    def test_segments_are_computed_in_order(self):
        outcome = _run(
            Segment(0, None, Form.EACH, False, 1, range(-3, 0)),
            Segment(0, None, Form.SKIP, False, 1, 2),
            Segment(1, None, Form.STAR, False, 1, [(1, 2)]),
            Segment(1, None, Form.CALL, True, 1, [pickle.dumps(((1,), {"second": 5})), None]),
        )
        self.assertEqual(outcome, Outcome([3, 2, 1, None, None, 3, 6, None], {}))

    def test_a_worker_hands_back_what_it_has_not_begun(self):
        with mock.patch.object(worker, "SLICE_S", -1.0):
            self.assertEqual(_run(Segment(0, None, Form.EACH, False, 2, range(-9, 0))).results, [9, 8])

    def test_what_is_handed_back_becomes_new_tasks(self):
        pool = Pool()
        work = Mapping((1, (1, None, b"")), Form.EACH, range(10), 2)
        _add(pool, work)
        plan = library.Plan()
        self.assertIsNotNone(pool.next(plan))
        self.assertEqual((plan.n_tasks, plan.n_arrived.contents.value), (5, 5))
        pool.chunk(range(0, 3))
        pool.recover(range(0, 3), Outcome([0, 10], {}))
        self.assertEqual(plan.n_arrived.contents.value, 7)
        pool.recover(range(3, 5), Outcome([60, 70, 80, 90], {}))
        pool.recover(range(5, 7), Outcome([20, 30, 40, 50], {}))
        self.assertEqual(list(work.results(True, None)), list(range(0, 100, 10)))

    def test_what_arrives_too_late_begins_the_next_iteration(self):
        pool = Pool()
        _add(pool, Call((1, (1, None, b"")), ((), {})))
        plan = library.Plan()
        pool.next(plan)
        pool.recover(range(0, 1), Outcome([7], {}))
        late = Call((1, (1, None, b"")), ((), {}))
        _add(pool, late)
        self.assertIsNone(pool.next(plan))
        pool.recover(range(0, 1), Outcome([8], {}))
        self.assertEqual(plan.n_tasks, 1)
        pool.close()
        pool.next(plan)
        self.assertEqual(plan.n_tasks, 0)

    def test_a_function_is_pickled_and_read_once(self):
        table = FunctionTable()
        with mock.patch("sintonia.mpi.functions.dumps", wraps=lambda function: (pickle.dumps(function), True)) as dumps:
            first = table.add(1, None, add)
            self.assertEqual(table.add(1, None, add), first)
            self.assertNotEqual(table.add(2, None, add), first)
        self.assertEqual(dumps.call_count, 2)
        loaded = LoadedFunctions()
        self.assertIs(loaded.get(*first), add)
        self.assertIs(loaded.get(first[0], None), add)

    def test_without_cloudpickle_a_closure_is_refused_with_a_remedy(self):
        with mock.patch.dict("sys.modules", cloudpickle=None):
            with self.assertRaisesRegex(SerializationError, "`pip install cloudpickle` for lambdas and closures"):
                FunctionTable().add(1, None, lambda x: x)
