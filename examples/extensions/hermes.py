"""Reads, writes and serves as the example extensions of Hermes do, on nothing but Python's library.

What a host has to bear with: a body is read as so many characters, not bytes; the header's name
is looked up exactly; commands are served while an answer is waited for; and at the end of the
input the loop for headers goes round and round until the process is killed.
"""

import json
import sys

_handlers = {}
_last_id = 0


def on(method):
    """Makes a function the handler of a method."""

    def register(handler):
        _handlers[method] = handler
        return handler

    return register


def log(text):
    print(text, file=sys.stderr, flush=True)


def send(message):
    body = json.dumps(message)
    sys.stdout.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
    sys.stdout.flush()


def receive():
    headers = {}
    while True:
        line = sys.stdin.readline()
        if line in ("\r\n", "\n"):
            break
        if ":" in line:
            name, value = line.split(":", 1)
            headers[name.strip()] = value.strip()
    return json.loads(sys.stdin.read(int(headers["Content-Length"])))


class Refused(Exception):
    """The host answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error['message']} ({error['code']})")
        self.code = error["code"]


def request(method, **params):
    """Asks the host. Whatever it wants meanwhile is served here."""
    global _last_id
    _last_id += 1
    own = _last_id
    send({"jsonrpc": "2.0", "id": own, "method": method, "params": params})
    while True:
        message = receive()
        if "method" in message:
            serve(message)
        elif message.get("id") == own:
            if "error" in message:
                raise Refused(message["error"])
            return message["result"]


def serve(message):
    handler = _handlers.get(message["method"])
    result = handler(message.get("params", {})) if handler else None
    if "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})
    if message["method"] == "shutdown":
        sys.exit(0)


def run(name, commands=(), buttons=(), events=(), schema=None):
    """Says what the extension is, and serves until it is told to end."""

    @on("initialize")
    def initialize(params):
        answer = {
            "name": name,
            "version": "1.0.0",
            "capabilities": {"commands": list(commands), "events": list(events)},
            "toolbarButtons": list(buttons),
        }
        if schema:
            answer["schema"] = schema
        return answer

    _handlers.setdefault("shutdown", lambda params: {"success": True})
    while True:
        serve(receive())
