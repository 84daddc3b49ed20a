#!/usr/bin/env python3
"""Holds a discussion on `althing --ipc` and prints it. Ctrl-C cancels it; Althing keeps it."""

import argparse
import io
import itertools
import json
import os
import re
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
        # A session of its own, so that Ctrl-C reaches us alone; unbuffered, so that a signal
        # handler may write.
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self.process = subprocess.Popen([program, "--ipc"], start_new_session=True, **pipes)
        lines = io.TextIOWrapper(io.BufferedReader(self.process.stdout), encoding="utf-8")
        self.messages = map(json.loads, lines)
        self.ids = itertools.count(1)

    def __enter__(self):
        if next(self.messages, {}).get("method") != "ready":
            raise RuntimeError("the backend did not start")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def send(self, method, **params):
        request = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return request["id"]

    def call(self, method, on_event=lambda name, params: None, **params):
        """The answer; events that come before it go to `on_event`."""
        request = self.send(method, **params)
        for message in self.messages:
            if "method" in message:
                on_event(message["method"], message["params"])
            elif message["id"] == request and "error" in message:
                raise RuntimeError(message["error"]["message"])
            elif message["id"] == request:
                return message["result"]
        raise RuntimeError("the backend is gone")


def printable(text):
    """Models may say anything; a terminal shall not obey it."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


def discuss(backend, question, models, method):
    """Whether it was held to its end."""
    backend.call("initialize", protocol_version="1.0.0")
    providers = backend.call("list_models")["models"].values()
    known = [model["id"] for models in providers for model in models]
    print("Models:", ", ".join(known))
    seen = set()

    def on_event(name, params):
        seen.add(name)
        if name in SHOWN:
            print(printable(SHOWN[name].format_map(params)), flush=True)
        if name == "phase_complete":
            backend.send("resume_discussion")

    signal.signal(signal.SIGINT, lambda *_: backend.send("cancel_discussion"))
    request = {"question": question, "model_ids": models.split(",") if models else known[:3]}
    backend.call("run_discussion", on_event, **request, options={"method": method})
    return "discussion_cancelled" not in seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question")
    parser.add_argument("--models", help="ids, comma-separated; else the first three of the list")
    parser.add_argument("--method", default="standard")
    arguments = parser.parse_args()
    try:
        with Backend(os.environ.get("ALTHING", "althing")) as backend:
            return 0 if discuss(backend, **vars(arguments)) else 130
    except (OSError, RuntimeError) as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
