"""A worker in Python, from the protocol's text: pyzmq and msgpack are all it needs.

Spawned by a parent it connects back; with `--service NAME` it registers in the home's
.multifrost/services.json and waits to be found.
"""

import asyncio
import contextlib
import io
import json
import os
import signal
import sys
import time
import traceback
import uuid
from pathlib import Path

import msgpack
import zmq

APP = "comlink_ipc_v4"
ORPHAN_POLL_MS = 500


class Functions:
    """What parents may call: every method without a leading underscore."""

    def add(self, a, b):
        return a + b

    def echo(self, value):
        return value

    def power(self, base, exponent):
        return base**exponent

    def fail(self, text):
        raise ValueError(text)

    def say(self, text):
        print(text)
        print(text, file=sys.stderr)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)
        return seconds

    def pid(self):
        return os.getpid()

    def crash(self, code):
        os.write(2, b"these are my last words\n")
        os._exit(code)

    def list_functions(self):
        return sorted(name for name in dir(self) if not name.startswith("_"))

    def _secret(self):
        return 42


class Printer(io.TextIOBase):
    """Sends whole lines to whoever called last."""

    def __init__(self, worker, kind):
        self.worker, self.kind, self.rest = worker, kind, ""

    def write(self, text):
        *lines, self.rest = (self.rest + text).split("\n")
        for line in filter(None, lines):
            self.worker.send(self.worker.caller, {"type": self.kind, "id": str(uuid.uuid4()), "output": line})
        return len(text)


class Worker:
    def __init__(self, functions, namespace="default"):
        self.functions, self.namespace, self.caller = functions, namespace, None
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        # Rather wait than lose an answer.
        self.socket.set(zmq.ROUTER_MANDATORY, 1)
        self.socket.set(zmq.SNDHWM, 0)
        self.socket.set(zmq.LINGER, 1000)

    def run(self, service=None):
        parent = os.getppid()
        port = os.environ.get("COMLINK_ZMQ_PORT")
        if port is not None:
            if not port.isdigit() or not 1024 <= int(port) <= 65535:
                sys.exit(f"COMLINK_ZMQ_PORT: a port from 1024 to 65535, not '{port}'")
            self.socket.connect(f"tcp://localhost:{port}")
        elif service:
            registered = register(service, self.socket.bind_to_random_port("tcp://127.0.0.1"))
        else:
            sys.exit("COMLINK_ZMQ_PORT is not set and there is no service to offer")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            with contextlib.redirect_stdout(Printer(self, "stdout")), contextlib.redirect_stderr(Printer(self, "stderr")):
                while port is None or os.getppid() == parent:
                    if self.socket.poll(ORPHAN_POLL_MS) and not self.take(self.socket.recv_multipart()):
                        break
        finally:
            self.socket.close()
            if port is None:
                unregister(service, registered)

    def take(self, frames):
        """Handles one message; false is the end."""
        if len(frames) < 3:
            return True
        try:
            message = msgpack.unpackb(frames[2], raw=False, strict_map_key=False)
        except Exception:
            return True
        if not isinstance(message, dict) or message.get("app") != APP:
            return True
        if message.get("namespace", self.namespace) not in (self.namespace, None):
            return True
        kind, self.caller = message.get("type"), frames[0]
        if kind == "call":
            self.call(message)
        elif kind == "heartbeat":
            metadata = message.get("metadata") or {}
            metadata = {"hb_timestamp": float(metadata.get("hb_timestamp", time.time())), "hb_response": True}
            self.send(self.caller, {"type": "heartbeat", "id": message.get("id"), "metadata": metadata})
        return kind != "shutdown"

    def call(self, message):
        identity = message.get("id") or str(uuid.uuid4())
        try:
            if not message.get("id"):
                raise ValueError("Message missing 'id' field")
            result = self.function(message)(*(message.get("args") or []))
            if asyncio.iscoroutine(result):
                result = asyncio.run(result)
            self.send(self.caller, {"type": "response", "id": identity, "result": result})
        except Exception as error:
            text = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
            self.send(self.caller, {"type": "error", "id": identity, "error": text})

    def function(self, message):
        name = message.get("function")
        if not name:
            raise ValueError("Message missing 'function' field")
        if name.startswith("_"):
            raise AttributeError(f"Cannot call private method '{name}'")
        found = getattr(self.functions, name, None)
        if not callable(found):
            raise AttributeError(f"Function '{name}' not found")
        return found

    def send(self, caller, fields):
        if caller is None:
            return
        message = {"app": APP, "id": fields.pop("id"), "type": fields.pop("type"), "timestamp": time.time(), **fields}
        packed = msgpack.packb(message, use_bin_type=True)
        with contextlib.suppress(zmq.ZMQError):
            self.socket.send_multipart([caller, b"", packed])


STALE_S = 10


def take(path, make, remove):
    """Makes what must not be there yet, and breaks what its maker died with."""
    deadline = time.time() + 20
    while True:
        try:
            return make(path)
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STALE_S:
                    remove(path)
            if time.time() > deadline:
                raise
            time.sleep(0.02)


@contextlib.contextmanager
def locked():
    """The registry as a map that is written back, under the locks of all libraries: Python, Go and
    Rust make a file, JavaScript a folder."""
    folder = Path.home() / ".multifrost"
    folder.mkdir(parents=True, exist_ok=True)
    file, lock, lock_js = folder / "services.json", folder / "services.lock", folder / "services.json.lock"
    os.close(take(lock, lambda path: os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY), os.unlink))
    try:
        take(lock_js, os.mkdir, os.rmdir)
        try:
            entries = json.loads(file.read_text()) if file.exists() else {}
            yield entries
            temporary = folder / f"services.{os.getpid()}.tmp"
            temporary.write_text(json.dumps(entries))
            temporary.rename(file)
        finally:
            lock_js.rmdir()
    finally:
        lock.unlink()


def register(service, port):
    with locked() as entries:
        other = entries.get(service, {}).get("pid")
        if other and Path(f"/proc/{other}").exists():
            sys.exit(f"service '{service}' is already offered by process {other}")
        entries[service] = {"port": port, "pid": os.getpid(), "started": time.strftime("%Y-%m-%dT%H:%M:%S")}
    return port


def unregister(service, port):
    with locked() as entries:
        if entries.get(service, {}).get("pid") == os.getpid():
            del entries[service]


if __name__ == "__main__":
    name = sys.argv[sys.argv.index("--service") + 1] if "--service" in sys.argv else None
    Worker(Functions()).run(name)
