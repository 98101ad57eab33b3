"""Parts of the package that need no daemon."""

from __future__ import annotations

import concurrent.futures
import io
import os
import socket
import tempfile
import unittest

from sintonia import calls, graph, messages
from sintonia.errors import DependencyError, NoDaemonError
from sintonia.location import state_folder
from sintonia.options import TaskOptions, array_range, demand, with_wishes
from sintonia.waits import ranges


class Parts(unittest.TestCase):
    def test_a_daemon_is_where_the_command_finds_it(self):
        host = socket.gethostname().split(".")[0]
        ranks = {"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "HOME": "/h"}
        table = [
            ("/n", {"SINTONIA_NODE": "/v"}, "/n"),
            (None, {"SINTONIA_NODE": "/v", "SINTONIA_KEEPER": "/k"}, "/v"),
            (None, {"SINTONIA_NODE": "", "SINTONIA_KEEPER": "/k"}, "/k"),
            (None, {"XDG_STATE_HOME": "/s", "HOME": "/h"}, f"/s/sintonia/{host}"),
            (None, {"XDG_STATE_HOME": "relative", "HOME": "/h"}, f"/h/.local/state/sintonia/{host}"),
            (None, ranks, f"/h/.local/state/sintonia/{host}-1"),
        ]
        for node, variables, expected in table:
            self.assertEqual(str(state_folder(node, variables)), expected)
        with self.assertRaisesRegex(NoDaemonError, "neither `XDG_STATE_HOME` nor `HOME`"):
            state_folder(None, {})
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(folder, "node.sock"))
            self.assertEqual(str(state_folder(os.path.join(folder, "node.sock"), {})), folder)

    def test_resources_are_written_as_the_daemon_reads_them(self):
        given = {"cpus": 4, "memory": "1.5G", "nodes": 2, "time_limit": 0.5, "fpga": 2}
        one = {"cpus": 4, "memory_bytes": 3 << 29, "named": {"fpga": 2}}
        self.assertEqual(demand(given), {"variants": [one], "nodes": 2, "time_limit_ms": 500})
        self.assertEqual(demand({"memory": 7})["variants"], [{"memory_bytes": 7}])
        with self.assertRaisesRegex(ValueError, "the memory `much` must be"):
            demand({"memory": "much"})
        wishes = with_wishes({"demand": {"nodes": 3}}, {"cpus": 2}, 5, "graph")
        self.assertEqual(wishes, {"demand": {"nodes": 3}, "schedule": {"priority": 5, "job": "graph"}})

    def test_names_and_outcomes_are_read(self):
        self.assertEqual(messages.parse_tasks("node-1.org.3-4"), ("node-1.org", 3, 4))
        for wrong in ["alpha", "alpha.0", "alpha.4-3", "alpha.+1", "-a.1"]:
            with self.assertRaises(ValueError):
                messages.parse_tasks(wrong)
        table = [
            ({"exit": 0}, "exit 0"),
            ({"signal": 9}, "signal 9"),
            ({"not-started": "no `x`"}, "not started: no `x`"),
            ("lost", "lost too often"),
            ({"of-tomorrow": "new"}, "of tomorrow: new"),
        ]
        for json, words in table:
            self.assertEqual(str(messages.Outcome.of(json)), words)
        status = messages.TaskStatus.of({"task": "a.1", "title": "t", "state": "queued", "of_tomorrow": 7})
        self.assertEqual((status.title, status.json["of_tomorrow"]), ("t", 7))
        self.assertEqual(ranges([7, 1, 2, 3, 9, 8]), [(1, 3), (7, 9)])

    def test_calls_are_found_by_index_and_results_behind_prints(self):
        header = calls.Header("0" * 32, ["/a"], "/folder", False)
        parts = [b"first", b"", b"third"]
        piece = calls.pack(header, b"function", parts)
        for idx, part in enumerate(parts):
            self.assertEqual(calls.unpack(io.BytesIO(piece), idx), (header, b"function", part))
            with calls.opened(calls.inline(piece)) as source:
                self.assertEqual(calls.unpack(source, idx)[2], part)
        printed = b"said\n#sintonia-result:%s:QQ==#\n" % (b"1" * 32)
        found = calls.find(printed + calls.trailer(header.token, b"result") + b"by a child", header.token)
        self.assertEqual((found.stdout, found.result, found.path), (printed + b"by a child", b"result", None))
        self.assertEqual(calls.find(calls.file_trailer(header.token, "/p"), header.token).path, "/p")
        self.assertEqual(calls.find(printed, header.token), (printed, None, None))
        self.assertEqual(calls.find(printed, None).result, b"A")

    def test_a_submission_has_what_the_options_say(self):
        options = TaskOptions(environment={"A": "1", "HOME": None}, retry=2, retry_delay=0.5, fields={"limits": {"x": 1}})
        submission = options.submission(["true"], array=array_range("1-3"))
        names = {name for name, _ in submission["environment"]}
        self.assertTrue("A" in names and "HOME" not in names and "SINTONIA_NODE" not in names)
        self.assertEqual(submission["failures"], {"n_retries_max": 2, "retry_delay_ms": 500, "n_fails_max": None})
        self.assertEqual((submission["limits"]["n_starts_max"], submission["limits"]["x"]), (10, 1))
        self.assertEqual((submission["array"], submission["folder"]), ({"first": 1, "last": 3}, os.getcwd()))
        for wrong in ["1", range(0), range(1, 9, 2)]:
            with self.assertRaises(ValueError):
                array_range(wrong)

    def test_inputs_take_the_place_of_futures_or_fail(self):
        first, second = concurrent.futures.Future(), concurrent.futures.Future()
        value = [first, {"key": (1, second)}, first]
        self.assertEqual(graph.inputs_of(value), [first, second])
        seen = []
        graph.Hold([first], [second], lambda: seen.append(graph.with_results([first, 2])), seen.append)
        second.set_exception(OSError("whatever came of it"))
        self.assertEqual(seen, [])
        first.set_result("one")
        self.assertEqual(seen, [["one", 2]])
        graph.Hold([second, concurrent.futures.Future()], [], seen.clear, seen.append)
        self.assertIsInstance(seen[1], DependencyError)
        self.assertIs(seen[1].__cause__, second.exception())


if __name__ == "__main__":
    unittest.main()
