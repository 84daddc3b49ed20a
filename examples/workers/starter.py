"""Functions for Althing in Python. It needs only pyzmq and msgpack: pip install pyzmq msgpack

Write your own functions, each with its name in FUNCTIONS and, if models are to use it, its row in
TOOLS. Leave the rest below the line as it is.
What you print is shown by `althing workers logs`.
"""

import collections
import inspect
import os
import statistics
import time
import traceback
import uuid

import msgpack
import zmq

# What models are told: the properties are the arguments, in this order.
TOOLS = [
    {
        "name": "add",
        "description": "Adds two numbers",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
    {
        "name": "mean",
        "description": "The mean of a list of numbers",
        "parameters": {
            "type": "object",
            "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
            "required": ["numbers"],
        },
    },
]


def add(a, b):
    return a + b


def mean(numbers):
    return statistics.fmean(numbers)


def complete(messages):
    """Only for a worker that is a model: a conversation in, an answer out. It may give it whole with
    `return`, or piece by piece with `yield`; a piece is heard when it comes."""
    yield "You said: "
    yield messages[-1]["content"]


def describe():
    return TOOLS


# What can be called, each by its name.
FUNCTIONS = {it.__name__: it for it in (add, mean, complete, describe)}
FUNCTIONS["list_functions"] = lambda: sorted(FUNCTIONS)

# ------------------------------------------------------------------------------------------------

APP, NAMESPACE, ORPHAN_POLL_MS = "comlink_ipc_v4", "default", 500
# Beyond the protocol, for callers that name it too: answers piece by piece, and calls that are ended.
EXTENSIONS = ["cancel", "stream"]
# Pieces that the caller has not taken yet, and their bytes; then the next one waits.
PIECES_MAX, BYTES_MAX = 256, 1 << 20


class Cancelled(Exception):
    pass


class Worker:
    def __init__(self, port):
        self.socket, self.parent = zmq.Context.instance().socket(zmq.ROUTER), os.getppid()
        self.socket.set(zmq.ROUTER_MANDATORY, 1)
        self.socket.set(zmq.SNDHWM, 0)
        self.socket.connect(f"tcp://127.0.0.1:{port}")
        self.calls, self.cancelled, self.taken = collections.deque(), [], {}

    def run(self):
        try:
            while True:
                self.look(0 if self.calls else ORPHAN_POLL_MS)
                if self.calls:
                    self.answer(*self.calls.popleft())
                    waiting = [message["id"] for _, message in self.calls]
                    self.cancelled, self.taken = [it for it in self.cancelled if it in waiting], {}
        finally:
            self.socket.close(linger=1000)

    def look(self, wait_ms):
        """Reads what has come. Calls wait for their turn, everything else is heeded at once."""
        while self.socket.poll(wait_ms):
            wait_ms = 0
            frames = self.socket.recv_multipart()
            if len(frames) < 3:
                continue  # Without a delimiter it is no message; what stands behind it is no part of it.
            try:
                self.take(frames[0], msgpack.unpackb(frames[2], strict_map_key=False))
            except Exception:
                traceback.print_exc()  # What cannot be read is nobody's call.
        if os.getppid() != self.parent:
            raise SystemExit

    def take(self, caller, message):
        if not isinstance(message, dict) or message.get("app") != APP:
            return
        if message.get("namespace") not in (None, NAMESPACE):
            return
        kind, identity, notes = message.get("type"), message.get("id"), message.get("metadata") or {}
        if kind == "shutdown":
            raise SystemExit
        if kind == "call" and identity in (None, ""):
            self.send(caller, str(uuid.uuid4()), "error", error="Message missing 'id' field")
        elif kind == "call":
            self.calls.append((caller, message))
        elif kind == "heartbeat":
            sent = float(notes.get("hb_timestamp") or time.time())
            self.send(caller, identity, kind, metadata={"hb_timestamp": sent, "hb_response": True})
        elif kind == "cancel":
            self.cancelled.append(identity)
        elif kind == "stream":
            self.taken[identity] = notes.get("taken") or 0

    def answer(self, caller, message):
        identity, notes = message.get("id"), message.get("metadata") or {}
        known = {"ext": EXTENSIONS} if "ext" in notes else {}
        try:
            self.check(identity)
            result = call(message)
            if inspect.isgenerator(result) and notes.get("stream"):
                known["items"], result = self.stream(caller, identity, result), None
            elif inspect.isgenerator(result):
                result = list(result)
            msgpack.packb(result)
            self.send(caller, identity, "response", result=result, metadata=known)
        except Exception as error:
            text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
            self.send(caller, identity, "error", error=text, metadata=known)

    def stream(self, caller, identity, pieces):
        """Sends the pieces as they come, and gives their number."""
        sizes, sent, taken = collections.deque(), 0, 0
        for piece in pieces:
            while True:
                is_full = len(sizes) >= PIECES_MAX or sum(sizes) >= BYTES_MAX
                self.look(ORPHAN_POLL_MS if is_full else 0)
                self.check(identity)
                while taken < self.taken.get(identity, 0) and sizes:
                    sizes.popleft()
                    taken += 1
                if len(sizes) < PIECES_MAX and sum(sizes) < BYTES_MAX:
                    break
            sizes.append(len(msgpack.packb(piece)))
            self.send(caller, identity, "stream", result=piece)
            sent += 1
        return sent

    def check(self, identity):
        if identity in self.cancelled:
            raise Cancelled("the caller has given up")

    def send(self, caller, identity, kind, **fields):
        message = {"app": APP, "id": identity, "type": kind, "timestamp": time.time(), **fields}
        self.socket.send_multipart([caller, b"", msgpack.packb(message)])


def call(message):
    name, args = message.get("function"), message.get("args") or []
    if not name:
        raise ValueError("Message missing 'function' field")
    if not isinstance(name, str) or not isinstance(args, list):
        raise TypeError("'function' must be a string and 'args' an array")
    if name.startswith("_"):
        raise AttributeError(f"Cannot call private method '{name}'")
    if name not in FUNCTIONS:
        raise AttributeError(f"Function '{name}' not found")
    return FUNCTIONS[name](*args)


def main():
    port = os.environ.get("COMLINK_ZMQ_PORT")
    if port is None:
        raise SystemExit("Althing starts this program: see `althing workers new --help`")
    if not (port.isascii() and port.isdigit() and 1024 <= int(port) <= 65535):
        raise SystemExit(f"COMLINK_ZMQ_PORT: a port from 1024 to 65535, not '{port}'")
    Worker(port).run()


if __name__ == "__main__":
    main()
