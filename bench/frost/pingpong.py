"""A parent and a child of the protocol in Python, as lean as pyzmq and msgpack allow.

    pingpong.py parent    a line with seconds in, a line with figures out
    pingpong.py ready     says that the imports are done, and ends
    pingpong.py [--worker]    the child
"""

import os
import subprocess
import sys
import time
import uuid

import msgpack
import zmq

APP = "comlink_ipc_v4"
IN_FLIGHT = 100


def pack(message):
    return msgpack.packb(message, use_bin_type=True)


def unpack(payload):
    return msgpack.unpackb(payload, raw=False, max_str_len=1 << 26)


def child():
    socket = zmq.Context.instance().socket(zmq.ROUTER)
    socket.connect(f"tcp://127.0.0.1:{os.environ['COMLINK_ZMQ_PORT']}")
    parent = os.getppid()
    while True:
        # A parent that is gone is told from one that is silent.
        while not socket.poll(500):
            if os.getppid() != parent:
                return
        sender, _, payload = socket.recv_multipart()
        message = unpack(payload)
        if message["type"] == "shutdown":
            return
        if message["type"] != "call":
            continue
        (value,) = message["args"]
        answer = {"app": APP, "id": message["id"], "type": "response", "timestamp": time.time(), "result": value}
        socket.send_multipart([sender, b"", pack(answer)])


class Parent:
    def __init__(self):
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        port = self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.child = subprocess.Popen([sys.executable, __file__], env={**os.environ, "COMLINK_ZMQ_PORT": str(port)})

    def send(self, value):
        call = {"app": APP, "id": str(uuid.uuid4()), "type": "call", "timestamp": time.time(), "function": "echo", "args": (value,), "namespace": "default"}
        self.socket.send_multipart([b"", pack(call)])

    def hear(self):
        return unpack(self.socket.recv_multipart()[1])["result"]

    def one_by_one(self, value, seconds):
        start = last = time.perf_counter()
        times = []
        while last - start < seconds:
            self.send(value)
            assert self.hear() == value
            now = time.perf_counter()
            times.append(now - last)
            last = now
        times.sort()
        percent = [times[len(times) * it // 100] * 1e6 for it in (50, 99)]
        return [len(times) / (last - start), *percent]

    def flight(self, seconds):
        start = time.perf_counter()
        for _ in range(IN_FLIGHT):
            self.send("hello")
        sent, heard = IN_FLIGHT, 0
        while heard < sent:
            self.hear()
            heard += 1
            if time.perf_counter() - start < seconds:
                self.send("hello")
                sent += 1
        return heard / (time.perf_counter() - start)

    def measure(self, seconds):
        big = "x" * (1 << 20)
        small, flight = self.one_by_one("hello", seconds), self.flight(seconds)
        return [*small, flight, *self.one_by_one(big, seconds)[:2]]


if __name__ == "__main__":
    if "parent" in sys.argv:
        it = Parent()
        for line in sys.stdin:
            print(*it.measure(float(line)), flush=True)
        it.child.kill()
    elif "ready" in sys.argv:
        print("ready", flush=True)
    else:
        child()
