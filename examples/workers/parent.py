"""A parent in Python, from the protocol's text. It spawns a worker or connects to a service, calls
the functions that worker.py has, and says what it found:

    parent.py spawn PROGRAM [ARGUMENT...]
    parent.py connect SERVICE
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import msgpack
import zmq

APP = "comlink_ipc_v4"
CALL_MAX_S = 30


class RemoteCallError(Exception):
    pass


class Parent:
    def __init__(self):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.set(zmq.LINGER, 1000)
        self.answers, self.output, self.process = {}, [], None

    def spawn(self, command):
        port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        environment = {**os.environ, "COMLINK_ZMQ_PORT": str(port), "COMLINK_WORKER_MODE": "1"}
        self.process = subprocess.Popen(command, env=environment, start_new_session=True)

    def connect(self, service):
        deadline = time.time() + CALL_MAX_S
        while True:
            file = Path.home() / ".multifrost" / "services.json"
            entry = json.loads(file.read_text()).get(service) if file.exists() else None
            if entry:
                return self.socket.connect(f"tcp://localhost:{entry['port']}")
            if time.time() > deadline:
                raise TimeoutError(service)
            time.sleep(0.1)

    def send(self, kind, **fields):
        identity = str(uuid.uuid4())
        message = {"app": APP, "id": identity, "type": kind, "timestamp": time.time(), **fields}
        self.socket.send_multipart([b"", msgpack.packb(message, use_bin_type=True)])
        return identity

    def begin(self, function, *args, namespace="default"):
        return self.send("call", function=function, args=args, namespace=namespace)

    def answer(self, identity, seconds=CALL_MAX_S):
        deadline = time.time() + seconds
        while identity not in self.answers:
            if not self.socket.poll(max(0, deadline - time.time()) * 1000):
                raise TimeoutError(identity)
            frames = self.socket.recv_multipart()
            message = msgpack.unpackb(frames[1], raw=False, strict_map_key=False, max_bin_len=1 << 26, max_str_len=1 << 26)
            if message["type"] in ("stdout", "stderr"):
                self.output.append((message["type"], message["output"]))
            elif message.get("id"):
                self.answers[message["id"]] = message
        return self.answers.pop(identity)

    def wait(self, identity, seconds=CALL_MAX_S):
        message = self.answer(identity, seconds)
        if message["type"] == "error":
            raise RemoteCallError(message["error"])
        return message.get("result") if message["type"] == "response" else message

    def call(self, function, *args):
        return self.wait(self.begin(function, *args))

    def stop(self):
        self.send("shutdown")
        if self.process:
            return self.process.wait(timeout=CALL_MAX_S)


def check(parent, is_spawned):
    assert parent.call("add", 1, 2) == 3
    # This parent names no extensions, so there is nothing of them in an answer.
    assert set(parent.answer(parent.begin("add", 1, 2))) == {"app", "id", "type", "timestamp", "result"}
    assert set(parent.answer(parent.begin("nope"))) == {"app", "id", "type", "timestamp", "error"}
    values = [None, True, 0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, -math.inf, "žluť 🌊", b"\xff\x00", [1, [2, [3]]], {"a": {"b": []}}]
    for value in values:
        found = parent.call("echo", value)
        assert found == value, (value, found)
    assert math.isnan(parent.call("echo", math.nan))
    big = "x" * (10 * 1000 * 1000)
    assert parent.call("echo", big) == big
    assert parent.call("echo", big.encode()) == big.encode()
    assert parent.call("power", 2, 63) == 2**63
    try:
        raise AssertionError(parent.call("echo", 2**64))
    except OverflowError:
        pass
    for name, args, words in [
        ("power", [2, 64], "OverflowError"),
        ("fail", ["no luck"], "no luck\nTraceback"),
        ("nope", [], "Function 'nope' not found"),
        ("_secret", [], "Cannot call private method '_secret'"),
        ("", [], "Message missing 'function'"),
    ]:
        try:
            raise AssertionError(parent.call(name, *args))
        except RemoteCallError as error:
            assert words in str(error), error
    try:
        raise AssertionError(parent.wait(parent.begin("add", 1, 2, namespace="other"), 0.2))
    except TimeoutError:
        pass
    calls = [parent.begin("add", n, 1) for n in range(1000)]
    assert [parent.wait(call) for call in calls] == [n + 1 for n in range(1000)]
    parent.call("say", "hello")
    assert sorted(parent.output) == [("stderr", "hello"), ("stdout", "hello")], parent.output
    beat = parent.wait(parent.send("heartbeat", metadata={"hb_timestamp": 12.5}))
    assert beat["metadata"] == {"hb_timestamp": 12.5, "hb_response": True}, beat
    assert "add" in parent.call("list_functions")
    assert parent.stop() in ((0,) if is_spawned else (None,))


def check_crash(command):
    """A worker that dies is seen by its process: a ZeroMQ socket says nothing."""
    parent = Parent()
    parent.spawn(command)
    parent.call("pid")
    parent.begin("crash", 3)
    assert parent.process.wait(timeout=CALL_MAX_S) == 3
    parent = Parent()
    parent.spawn(command)
    pid = parent.call("pid")
    parent.begin("sleep", 600)
    os.kill(pid, signal.SIGKILL)
    assert parent.process.wait(timeout=CALL_MAX_S) == -signal.SIGKILL


if __name__ == "__main__":
    parent = Parent()
    if sys.argv[1] == "spawn":
        parent.spawn(sys.argv[2:])
    else:
        parent.connect(sys.argv[2])
    check(parent, sys.argv[1] == "spawn")
    if sys.argv[1] == "spawn":
        check_crash(sys.argv[2:])
    print("all as expected")
