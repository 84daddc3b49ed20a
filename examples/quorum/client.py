#!/usr/bin/env python3
"""Holds a discussion on `althing --ipc` and prints it. Ctrl-C cancels it; Althing keeps it.

    python3 client.py "Is a monolith enough?" --models gpt-5.1,claude-sonnet-4-5 --method oxford
"""

import argparse
import io
import itertools
import json
import os
import signal
import subprocess
import sys

# What is printed for an event; the others are not shown.
SHOWN = {
    "phase_start": "\n== {message} ({phase} of {total_phases})",
    "thinking": "   {model} is thinking",
    "independent_answer": "\n{source}: {content}",
    "critique": "\n{source} agrees: {agreements}\ndisagrees: {disagreements}\nmisses: {missing}",
    "chat_message": "\n{source}: {content}",
    "final_position": "\n{source} ({confidence}): {position}",
    "synthesis": "\n== {consensus}, says {synthesizer_model}\n{synthesis}\n\nOpen: {differences}",
    "discussion_complete": "\nDone after {messages_count} messages.",
    "discussion_cancelled": "\nCancelled.",
}


class Backend:
    """The child process: requests go in, answers and events come out on one stream."""

    def __init__(self, program):
        # A session of its own, so that Ctrl-C reaches us alone. Unbuffered, so that a signal
        # handler may write.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process = subprocess.Popen([program, "--ipc"], start_new_session=True, **pipes)
        self.lines = io.TextIOWrapper(io.BufferedReader(self.process.stdout), encoding="utf-8")
        self.ids = itertools.count(1)

    def send(self, method, **params):
        request = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return request["id"]

    def wait(self, is_it, on_event=lambda name, params: None):
        """Reads to the first message that `is_it`; events on the way go to `on_event`."""
        for message in map(json.loads, self.lines):
            if is_it(message):
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message.get("result")
            if "method" in message:
                on_event(message["method"], message["params"])
        raise RuntimeError("the backend is gone")

    def call(self, method, on_event=lambda name, params: None, **params):
        request = self.send(method, **params)
        return self.wait(lambda message: message.get("id") == request, on_event)


def printable(text):
    """Models may say anything; a terminal shall not obey it."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def discuss(backend, arguments):
    backend.wait(lambda message: message.get("method") == "ready")
    backend.call("initialize", protocol_version="1.0.0")
    listed = backend.call("list_models")["models"].values()
    known = [model["id"] for models in listed for model in models]
    print("Models:", ", ".join(known))
    seen = []

    def on_event(name, params):
        seen.append(name)
        if name in SHOWN:
            print(printable(SHOWN[name].format_map(params)), flush=True)
        if name == "phase_complete":
            backend.send("resume_discussion")

    signal.signal(signal.SIGINT, lambda *_: backend.send("cancel_discussion"))
    models = arguments.models.split(",") if arguments.models else known[:3]
    options = {"method": arguments.method}
    backend.call("run_discussion", on_event, question=arguments.question, model_ids=models, options=options)
    return 130 if "discussion_cancelled" in seen else 0


def main():
    parser = argparse.ArgumentParser(description="Holds a discussion on Althing and prints it.")
    parser.add_argument("question")
    parser.add_argument("--models", help="comma-separated ids; the first three of the list if not given")
    parser.add_argument("--method", default="standard")
    arguments = parser.parse_args()
    backend = Backend(os.environ.get("ALTHING", "althing"))
    try:
        return discuss(backend, arguments)
    except RuntimeError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    finally:
        backend.process.stdin.close()
        backend.process.wait()


if __name__ == "__main__":
    sys.exit(main())
