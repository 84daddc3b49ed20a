"""The registry as Python's library 4.1 uses it, and nothing else: the lock `services.lock` made with
O_EXCL, then read, change, write beside and rename. It knows nothing of JavaScript's lock, unless
LOCKS is `all`.

    registry.py FOLDER NAME ROUNDS END LOCKS

registers and unregisters ROUNDS times and looks each time whether that is so; then END is `leave`,
`stay` (registered, until standard input ends) or `die` (registered, killed).
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

POLL_S = 0.1
LOCK_MAX_S = 60

folder, name, rounds, end, locks = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:]
file, lock, lock_js = folder / "services.json", folder / "services.lock", folder / "services.json.lock"


def load():
    """A file that JavaScript is writing may be empty for a moment."""
    for _ in range(50):
        try:
            return json.loads(file.read_text()) if file.exists() else {}
        except json.JSONDecodeError:
            time.sleep(0.01)
    raise SystemExit(f"{name}: the registry is broken")


def acquire(make):
    deadline = time.time() + LOCK_MAX_S
    while True:
        try:
            return make()
        except FileExistsError:
            if time.time() > deadline:
                raise SystemExit(f"{name}: no lock")
            time.sleep(POLL_S)


def change(edit):
    descriptor = acquire(lambda: os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    if locks == "all":
        acquire(lock_js.mkdir)
    try:
        os.write(descriptor, str(os.getpid()).encode())
        entries = load()
        edit(entries)
        temporary = folder / "services.tmp"
        temporary.write_text(json.dumps(entries, indent=2))
        temporary.rename(file)
    finally:
        if locks == "all":
            lock_js.rmdir()
        os.close(descriptor)
        lock.unlink()


def register():
    port = random.randrange(1024, 65536)
    change(lambda entries: entries.update({name: {"port": port, "pid": os.getpid(), "started": time.strftime("%Y-%m-%dT%H:%M:%S")}}))
    entry = load().get(name)
    if not entry or (entry["port"], entry["pid"]) != (port, os.getpid()):
        raise SystemExit(f"{name}: lost its entry")


def unregister():
    change(lambda entries: entries.pop(name))
    if name in load():
        raise SystemExit(f"{name}: its entry came back")


for _ in range(rounds):
    register()
    unregister()
if end != "leave":
    register()
    print("registered", flush=True)
if end == "stay":
    sys.stdin.read()
if end == "die":
    os.kill(os.getpid(), signal.SIGKILL)
