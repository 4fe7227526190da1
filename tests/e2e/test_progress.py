"""What is to be seen while downloads run: lines that are drawn over on a terminal, plain lines elsewhere."""

import os
import pty
import subprocess
import threading
import unittest

import support
from support import DONE

MIB = 1 << 20


class Progress(support.EndToEnd):
    def slow_world(self):
        packages = {f"/p{number}.deb": {"size": 2 * MIB, "seed": number} for number in range(3)}
        world = self.world(script={"packages": packages})
        world.team("Workstations", *packages)
        return world

    def run_on_terminal(self, world, *arguments):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([support.TENDER, *arguments], env=world.environment(TERM="xterm"), stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        shown = []

        def read():
            try:
                while data := os.read(ours, 65536):
                    shown.append(data)
            except OSError:
                pass

        reader = threading.Thread(target=read)
        reader.start()
        process.wait(60)
        reader.join(10)
        os.close(ours)
        return process.returncode, b"".join(shown).decode()

    def test_lines_on_a_terminal(self):
        world = self.slow_world()
        status, text = self.run_on_terminal(world, "fetch", "--bandwidth", "1MiB")  # for some seconds: speeds are shown behind the first one
        self.assertEqual(status, DONE, text)
        self.assertRegex(text, r"p\d\.deb: \d+ %, [^\r]* of 2.0 MiB, [^\r]*/s, [^\r]* left")
        self.assertRegex(text, r"p2\.deb: \d+ %", "each has a line of its own")
        self.assertRegex(text, r"\d of 3 packages, [^\r]*/s")
        self.assertIn("\x1b[3A", text, "drawn over: three lines and one for all")
        last = text[text.rindex("\x1b[J"):]
        self.assertNotIn("packages,", last, "nothing of it is left in the end")

    def test_no_control_bytes_elsewhere(self):
        world = self.slow_world()
        result = world.tender("fetch", "--bandwidth", "3MiB")
        self.assert_status(result, DONE)
        self.assertNotIn("\x1b", result.stderr)

    def test_attempts_tell_their_times(self):
        world = self.slow_world()
        result = world.tender("fetch")
        for item in result.items():
            attempt = item["fetch"]["attempts"][0]
            self.assertGreaterEqual(attempt["resolve_ms"], 0)
            self.assertGreaterEqual(attempt["connect_ms"], attempt["resolve_ms"])
            self.assertEqual(attempt["tls_ms"], -1, "plain http")
            self.assertGreaterEqual(attempt["first_byte_ms"], attempt["connect_ms"])
            self.assertLessEqual(attempt["first_byte_ms"], attempt["duration_ms"] + 1)


if __name__ == "__main__":
    unittest.main()
