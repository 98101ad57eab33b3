"""Commands, functions, graphs and failures on real daemons."""

from __future__ import annotations

import concurrent.futures
import faulthandler
import functools
import glob
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import sintonia
from sintonia.calls import INLINE_CALLS_BYTES_MAX
from sintonia.connection import Connection
from tests import daemons, helpers
from tests.daemons import ALPHA, BETA, GAMMA, PATIENCE_S, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Says where all threads are, and ends, before the test that started this one gives up.
faulthandler.dump_traceback_later(50, exit=True)


def result(future):
    return future.result(PATIENCE_S)


class WithClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = sintonia.Client(ALPHA)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        assert not glob.glob(f"{ALPHA}/python/*"), "no file is left"


class Commands(WithClient):
    def test_a_command_has_output_and_an_end(self):
        script = 'echo "$WORD here"; echo careful >&2; printf "\\377"'
        future = self.client.submit(["sh", "-c", script], name="said", environment={"WORD": "hello"}, folder="/")
        ended = result(future)
        self.assertEqual((ended.stdout_bytes, ended.stderr), (b"hello here\n\xff", "careful\n"))
        self.assertTrue(ended.outcome.ok and future.task.startswith("alpha."))
        self.assertEqual((future.status().title, future.status().state), ("said", "ended"))
        self.assertEqual(future.explain().steps[0]["what"], "submitted")
        self.assertIs(future.output, ended)
        self.assertIn(ended.node, [node.node for node in self.client.nodes()])

    def test_a_command_that_fails_says_how(self):
        failed = self.client.submit(["sh", "-c", "echo first >&2; echo no input >&2; exit 3"])
        absent = self.client.submit(["no-such-command"])
        with self.assertRaisesRegex(sintonia.TaskFailedError, r"`alpha\.\d+`: exit 3 on \w+: no input") as caught:
            result(failed)
        self.assertEqual(caught.exception.ended.outcome, sintonia.Outcome("exit", 3))
        with self.assertRaisesRegex(sintonia.TaskFailedError, "not started: program `no-such-command` is not in the `PATH`"):
            result(absent)
        ends = self.client.wait([failed, absent], PATIENCE_S)
        self.assertEqual([str(end.outcome)[:11] for end in ends], ["exit 3", "not started"])
        self.assertEqual([one.why for one in self.client.tasks(failed)], ["no input"])
        again = self.client.rerun(failed)
        with self.assertRaises(sintonia.TaskFailedError):
            result(again[0])
        self.assertNotEqual(again[0].task, failed.task)

    def test_an_array_has_a_future_for_each_task(self):
        futures = self.client.submit(["sh", "-c", "echo $SINTONIA_ARRAY_INDEX"], array=range(5, 9), name="sweep")
        done = {result(one).stdout for one in concurrent.futures.as_completed(futures, PATIENCE_S)}
        self.assertEqual(done, {"5\n", "6\n", "7\n", "8\n"})
        first = int(futures[0].task.partition(".")[2])
        self.assertEqual([one.task for one in futures], [f"alpha.{first + idx}" for idx in range(4)])
        attached = self.client.attach(f"alpha.{first}-{first + 3}")
        self.assertEqual([result(one).stdout for one in attached], ["5\n", "6\n", "7\n", "8\n"])
        self.assertEqual(len(self.client.tasks(name="sweep", outcome="succeeded")), 4)

    def test_a_task_gets_what_it_asks_for(self):
        said = self.client.submit(["sh", "-c", "echo $SINTONIA_CPUS $SINTONIA_NODES"], resources={"cpus": 2, "nodes": 2})
        self.assertEqual(result(said).stdout, "2 2\n")

    def test_what_is_wrong_is_refused(self):
        for wrong in ["echo hi", (["echo"], 1)]:
            with self.assertRaises(TypeError):
                self.client.submit(wrong) if isinstance(wrong, str) else self.client.submit(*wrong)
        with self.assertRaisesRegex(TypeError, r"functools.partial\(function, name=...\)"):
            self.client.submit(lambda name: name, name="x")
        for command, sentence in [(["a\0b"], "contains a zero byte"), (["x" * 300_000], "put data into files")]:
            with self.assertRaisesRegex(sintonia.RefusedError, sentence):
                result(self.client.submit(command))
        with self.assertRaisesRegex(sintonia.RefusedError, "`alpha.999999` was not submitted"):
            self.client.wait("alpha.999999", PATIENCE_S)
        with self.assertRaisesRegex(sintonia.RefusedError, "put data into files"):
            self.client.submit(["x" * 2_000_000]).task

    def test_tasks_are_canceled_in_any_state(self):
        running = self.client.submit(["sleep", "1000"])
        until("it runs", running.running)
        held = self.client.submit(["true"], after=[running])
        unsent = self.client.submit(["sleep", "1000"])
        self.assertEqual(held.status().state, "held")
        self.assertTrue(unsent.cancel() and held.cancel() and running.cancel())
        with self.assertRaises(concurrent.futures.CancelledError):
            running.result(0)
        self.assertEqual([str(end.outcome) for end in self.client.wait(running, PATIENCE_S)], ["canceled"])
        several = self.client.submit(["sleep", "1000"], array=(1, 6))
        self.assertEqual(self.client.cancel([several[0].task, *several[1:]]), 6)
        done, not_done = concurrent.futures.wait(several, PATIENCE_S)
        self.assertTrue(not not_done and all(one.cancelled() for one in done))
        self.assertFalse(any(one.state == "running" for one in self.client.tasks(several)) and several[0].running())

    def test_tasks_of_two_nodes(self):
        futures = self.client.submit(["sleep", "0.2"], array=(1, 8))
        self.assertEqual({result(one).node for one in futures}, {"alpha", "beta"})
        with sintonia.Client(BETA) as other:
            far = other.attach([futures[0].task, futures[1].task])
            self.assertEqual([result(one).outcome.ok for one in far], [True, True])
            self.assertEqual(other.explain(futures[0].task).status.task, futures[0].task)


class Functions(WithClient):
    def test_values_and_exceptions_come_back(self):
        self.assertEqual(result(self.client.submit(sorted, [3, 1, 2], reverse=True)), [3, 2, 1])
        factor = 7
        printed = self.client.submit(lambda x: print("so far", x) or os.system("echo and a child") or factor * x, 6, name="f")
        self.assertEqual((result(printed), printed.output.stdout), (42, "so far 6\nand a child\n"))
        failed = self.client.submit(helpers.fail, "word")
        with self.assertRaisesRegex(KeyError, "word") as caught:
            result(failed)
        self.assertIn("in fail\n    raise KeyError(word)", str(caught.exception.__cause__))
        self.assertEqual([one.why for one in self.client.tasks(failed)], ["KeyError: 'word'"])

    def test_what_cannot_come_back_is_said(self):
        def leave():
            sys.exit(4)

        def odd():
            raise helpers.OddError("this", "that")

        cases = [
            (self.client.submit(leave), sintonia.TaskFailedError, "exit 4"),
            (self.client.submit(odd), sintonia.ResultError, "OddError: this and that"),
            (self.client.submit(threading.Lock), sintonia.SerializationError, "the result cannot be sent"),
            (self.client.submit(os._exit, 0), sintonia.ResultError, "without a result"),
        ]
        for future, error, sentence in cases:
            with self.assertRaisesRegex(error, sentence):
                result(future)
        with self.assertRaisesRegex(sintonia.SerializationError, "an argument of `print` cannot be sent"):
            self.client.submit(print, threading.Lock())
        with self.assertRaisesRegex(TypeError, "pass it to `submit` as an argument"):
            self.client.submit(functools.partial(print, cases[0][0]))

    def test_large_calls_and_results_go_through_files(self):
        large = os.urandom(4 * INLINE_CALLS_BYTES_MAX)
        halves = self.client.map(lambda part: part * 20, [large[:9], large])
        self.assertEqual([result(one) for one in halves], [large[:9] * 20, large * 20])
        files = self.client.submit(lambda: print("x" * 9) or "y", output=os.path.join(ALPHA, "out"))
        self.assertEqual(result(files), "y")
        with open(os.path.join(ALPHA, "out", f"{files.task}.out")) as file:
            self.assertTrue(file.read().startswith("x" * 9))
        # More than is kept is printed, and the result still arrives.
        loud = self.client.submit(lambda: print("z" * 500_000) or b"r" * 40_000)
        self.assertEqual(result(loud), b"r" * 40_000)
        self.assertTrue(loud.output.n_dropped_bytes > 0 and "sintonia-result" not in loud.output.stdout)
        self.assertEqual(glob.glob(f"{ALPHA}/python/*/*[!k]"), [])

    def test_map_takes_chunks(self):
        futures = self.client.map(lambda x, y: 12 // (x - y), [1, 2, 3, 4, 5], [3] * 5, chunk=2)
        self.assertEqual(len({one.task for one in futures}), 3)
        self.assertEqual([result(one) for one in futures if one is not futures[2]], [-6, -12, 12, 6])
        with self.assertRaises(ZeroDivisionError):
            result(futures[2])

    def test_a_function_is_tried_again(self):
        def second_time():
            if os.environ["SINTONIA_INSTANCE"] == "1":
                raise OSError("not yet")
            return os.environ["SINTONIA_INSTANCE"]

        self.assertEqual(result(self.client.submit(second_time, retry=2, retry_delay=0)), "2")

    def test_without_cloudpickle_functions_of_modules_are_sent(self):
        cloudpickle = sys.modules.pop("cloudpickle", None)
        sys.modules["cloudpickle"] = None
        try:
            self.assertEqual(result(self.client.submit(helpers.add, 1, 2)), 3)
            with self.assertRaisesRegex(sintonia.SerializationError, "`pip install cloudpickle` for lambdas"):
                self.client.submit(lambda: 1)
        finally:
            sys.modules["cloudpickle"] = cloudpickle
        self.assertIsNotNone(cloudpickle, "the other tests use it")

    def test_executor(self):
        with sintonia.Executor(self.client, name="square") as executor:
            self.assertEqual([*executor.map(pow, range(6), [2] * 6, chunksize=3)], [0, 1, 4, 9, 16, 25])
            future = executor.submit(dict, name="is an argument")
        self.assertTrue(future.done())
        self.assertEqual(future.result(), {"name": "is an argument"})
        with self.assertRaises(RuntimeError):
            executor.submit(print)
        endless = sintonia.Executor(self.client)
        sleeping = endless.submit(time.sleep, 1000)
        endless.shutdown(cancel_futures=True)
        self.assertTrue(sleeping.cancelled())


class Graphs(WithClient):
    def test_results_are_inputs(self):
        add = helpers.add
        parts = self.client.map(add, [1, 2, 3], [10, 20, 30])
        total = self.client.submit(sum, parts)
        word = self.client.submit(["echo", "sum", total])
        again = self.client.submit(lambda *, of: of["text"].stdout, of={"text": word})
        self.assertEqual(result(again), "sum 66\n")
        squares = self.client.map(pow, parts, [2, 2, 2])
        self.assertEqual([result(one) for one in squares], [121, 484, 1089])

    def test_what_follows_a_failure_is_not_submitted(self):
        failed = self.client.submit(["false"])
        after = self.client.submit(helpers.add, 1, 1, after=[failed])
        anyway = self.client.submit(helpers.add, 1, 1, after_any=[failed])
        last = self.client.submit(["echo", after])
        with self.assertRaisesRegex(sintonia.DependencyError, r"input <sintonia.Future alpha\.\d+ done> failed") as caught:
            result(after)
        self.assertIs(caught.exception.future, failed)
        self.assertIsInstance(caught.exception.__cause__, sintonia.TaskFailedError)
        self.assertIsInstance(last.exception(PATIENCE_S), sintonia.DependencyError)
        with self.assertRaises(sintonia.DependencyError):
            after.task
        self.assertEqual(result(anyway), 2)


class Lives(unittest.TestCase):
    def test_many_futures_of_several_threads(self):
        with sintonia.Client(ALPHA) as client:
            futures = [[] for _ in range(4)]

            def submit(own):
                own += [client.submit(["true"]) for _ in range(40)]

            threads = [threading.Thread(target=submit, args=(own,)) for own in futures]
            [thread.start() for thread in threads]
            array = client.submit(["true"], array=(1, 240))
            [thread.join() for thread in threads]
            all_of_them = sum(futures, array)
            self.assertEqual(sum(result(one).outcome.ok for one in all_of_them), 400)
            self.assertEqual(len({one.task for one in all_of_them}), 400)
            seen = []
            client.submit(["true"]).add_done_callback(lambda one: seen.append(one.result()))
            late = client.submit(["true"])
            late.add_done_callback(lambda _: seen.append(error_of(lambda: client.submit(["true"]).result())))
            until("both were called", lambda: len(seen) == 2)
            self.assertRegex(str(seen), "a callback must not wait")

    def test_the_daemon_is_killed_and_comes_back(self):
        with sintonia.Client(GAMMA) as client, self.assertLogs("sintonia", "WARNING") as logged:
            gate = os.path.join(GAMMA, "gate")
            script = f"while [ ! -e {gate} ]; do sleep 0.02; done; echo through"
            waiting = client.submit(["sh", "-c", script])
            self.assertTrue(waiting.task)
            until("it runs", waiting.running)
            daemons.kill(GAMMA)
            until("it is noticed", lambda: logged.records)
            queued = client.submit(helpers.add, 3, 4)
            self.assertFalse(client.flush(0.01))
            daemons.start(GAMMA, "gamma")
            open(gate, "w").close()
            self.assertEqual((result(waiting).stdout, result(queued)), ("through\n", 7))
            self.assertEqual(client.nodes()[0].node, "gamma")
        self.assertRegex(" ".join(logged.output), "the daemon ended; waiting up to 60.0 s.*:the daemon is back")
        client = sintonia.Client(GAMMA, reconnect=0.1)
        endless = client.submit(["sleep", "1000"])
        task = endless.task
        with self.assertLogs("sintonia", "WARNING"):
            daemons.kill(GAMMA)
            with self.assertRaisesRegex(sintonia.NoDaemonError, f"`{task}` goes on when the daemon is back"):
                result(endless)
            with self.assertRaisesRegex(sintonia.NoDaemonError, "sintonia node start"):
                client.nodes()
        client.close()
        daemons.start(GAMMA, "gamma")
        with sintonia.Client(GAMMA) as client:
            self.assertEqual(client.cancel(task), 1)

    def test_a_client_that_is_closed_leaves_its_tasks(self):
        client = sintonia.Client(ALPHA)
        future = client.submit(["sleep", "0.3"])
        held = client.submit(["true"], after=[future])
        with self.assertLogs("sintonia", "WARNING"):
            client.close()
        with self.assertRaisesRegex(sintonia.ClientClosedError, r"`alpha\.\d+` goes on"):
            future.result()
        with self.assertRaisesRegex(sintonia.ClientClosedError, "before its inputs were ready"):
            held.result()
        with self.assertRaisesRegex(sintonia.ClientClosedError, "make another one"):
            client.submit(["true"])
        with sintonia.Client(ALPHA) as other:
            self.assertTrue(result(other.attach(future.task)[0]).outcome.ok)

    def test_a_fork_needs_a_client_of_its_own(self):
        with sintonia.Client(ALPHA) as client:
            pending = client.submit(["sleep", "0.3"])
            self.assertTrue(pending.task)
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                errors = [error_of(lambda: client.submit(["true"])), error_of(pending.result)]
                client.close()
                with sintonia.Client(ALPHA) as own:
                    errors.append(result(own.submit(["echo", "own"])).stdout)
                os.write(write, repr(errors).encode())
                os._exit(0)
            os.close(write)
            with open(read) as file:
                said = file.read()
            os.waitpid(child, 0)
            self.assertEqual(said.count("of which this is a fork: make one"), 2, said)
            self.assertIn("own", said)
            self.assertTrue(result(pending).outcome.ok)

    def test_ctrl_c_leaves_the_tasks(self):
        script = (
            "import sintonia\n"
            f"with sintonia.Client({ALPHA!r}) as client:\n"
            "    future = client.submit(['sleep', '1000'])\n"
            "    print(future.task, flush=True)\n"
            "    future.result()\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as program:
            task = program.stdout.readline().strip()
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=PATIENCE_S)
        self.assertIn("KeyboardInterrupt", errors)
        with sintonia.Client(ALPHA) as client:
            self.assertEqual(client.cancel(task), 1)

    def test_no_daemon_and_other_versions(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(sintonia.NoDaemonError, "start one with `sintonia node start --background`"):
                sintonia.Client(folder)
            path = os.path.join(folder, "node.sock")
            refusals = [
                {"answer": "hello", "version": 2, "node": "alpha"},
                {"answer": "refused", "sentence": "256 clients are served already"},
            ]
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                threading.Thread(target=answer_each, args=(listener, refusals)).start()
                for error, sentence in [(sintonia.VersionError, "version 2"), (sintonia.RefusedError, "256 clients")]:
                    with self.assertRaisesRegex(error, sentence):
                        sintonia.Client(path)
        # What the client takes for the sentence about versions is what the daemon says.
        connection = Connection(pathlib.Path(ALPHA, "node.sock"))
        sentence = connection.ask({"request": "hello", "version": 99})["sentence"]
        connection.close()
        self.assertRegex(sentence, "^the daemon speaks version")

    def test_the_example_runs(self):
        path = os.path.join(ROOT, "examples/python/sweep.py")
        said = subprocess.run(
            [sys.executable, path],
            env={**os.environ, "SINTONIA_NODE": ALPHA, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
        )
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertIn("best: ", said.stdout)


def error_of(call):
    try:
        return call()
    except sintonia.SintoniaError as error:
        return str(error)


def answer_each(listener, answers):
    for answer in answers:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            payload = json.dumps(answer).encode()
            connection.sendall(struct.pack("<I", len(payload)) + payload)


if __name__ == "__main__":
    unittest.main()
