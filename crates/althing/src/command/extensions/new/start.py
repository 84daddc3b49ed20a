#!/usr/bin/env python3
"""{name}: an extension for the message in the editor, on nothing but Python's library.

It has one command, {name}/greet, with a button. The command reads a field of the message, asks the
person, and adds a note. The methods that may be called are in docs/protocols/hermes-extensions.md.
"""

import json
import sys

COMMAND = "{name}/greet"
last_id = 0


def log(text):
    """What goes to standard error is in the log of the extension."""
    print(text, file=sys.stderr, flush=True)


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def receive():
    length = None
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            break
        name, _, value = line.decode().partition(":")
        if name.strip().lower() == "content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length))


def request(method, **params):
    """Asks the host and waits; what it wants meanwhile is served here."""
    global last_id
    last_id += 1
    own = last_id
    send({"id": own, "method": method, "params": params})
    while True:
        message = receive()
        if "method" in message:
            serve(message)
        elif message.get("id") == own:
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            return message["result"]


def greet():
    text = request("editor/getMessage", format="json")["message"]
    segments = json.loads(text)["segments"]
    pid = next((it["fields"] for it in segments if it["segment"] == "PID"), {})
    name = pid.get("5", {})
    family = name.get("1", "nobody") if isinstance(name, dict) else name
    if not request("ui/showConfirm", message=f"Greet {family}?")["confirmed"]:
        return
    note = f"Greetings to {family}"
    patches = [{"path": "NTE", "create": True}, {"path": "NTE.3", "value": note}]
    report = request("editor/patchMessage", patches=patches)
    log(f"[INFO] {report['patchesApplied']} patches")


def serve(message):
    method, result = message["method"], None
    if method == "initialize":
        button = {"id": "greet", "label": "Greet", "icon": "", "command": COMMAND}
        result = {
            "name": "{name}",
            "version": "0.1.0",
            "capabilities": {"commands": [COMMAND]},
            "toolbarButtons": [button],
        }
    elif method == "command/execute":
        greet()
    elif method == "shutdown":
        result = {"success": True}
    if "id" in message:
        send({"id": message["id"], "result": result})
    if method == "shutdown":
        sys.exit(0)


while True:
    serve(receive())
