"""Functions for Althing in Python. It needs only pyzmq and msgpack: pip install pyzmq msgpack

Write your own functions, each with its row in TOOLS, and leave the rest below the line as it is.
What you print is shown by `althing workers logs`.
"""

import os
import statistics
import time
import traceback

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
    """Only for a worker that is a model: a conversation in, an answer out."""
    return f"You said: {messages[-1]['content']}"


def describe():
    return TOOLS


FUNCTIONS = {it.__name__: it for it in (add, mean, complete, describe)}
FUNCTIONS["list_functions"] = lambda: sorted(FUNCTIONS)

# ------------------------------------------------------------------------------------------------

APP, ORPHAN_POLL_MS = "comlink_ipc_v4", 500


def answer(message):
    """What a call came to, as the fields of a message."""
    name = message.get("function") or ""
    try:
        if name.startswith("_"):
            raise AttributeError(f"Cannot call private method '{name}'")
        if name not in FUNCTIONS:
            raise AttributeError(f"Function '{name}' not found")
        result = FUNCTIONS[name](*(message.get("args") or []))
        msgpack.packb(result)
        return {"type": "response", "result": result}
    except Exception as error:
        return {"type": "error", "error": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"}


def reply(message):
    if message["type"] == "call":
        return answer(message)
    if message["type"] == "heartbeat":
        sent = (message.get("metadata") or {}).get("hb_timestamp") or time.time()
        return {"type": "heartbeat", "metadata": {"hb_timestamp": float(sent), "hb_response": True}}
    return None


def main():
    port = os.environ.get("COMLINK_ZMQ_PORT")
    if port is None:
        raise SystemExit("Althing starts this program: see `althing workers new --help`")
    socket, parent = zmq.Context.instance().socket(zmq.ROUTER), os.getppid()
    socket.set(zmq.ROUTER_MANDATORY, 1)
    socket.set(zmq.SNDHWM, 0)
    socket.connect(f"tcp://127.0.0.1:{port}")
    while os.getppid() == parent:
        if not socket.poll(ORPHAN_POLL_MS):
            continue
        caller, *_, packed = socket.recv_multipart()
        message = msgpack.unpackb(packed, strict_map_key=False)
        if message.get("app") != APP:
            continue
        if message.get("type") == "shutdown":
            break
        fields = reply(message)
        if fields:
            head = {"app": APP, "id": message.get("id"), "timestamp": time.time()}
            socket.send_multipart([caller, b"", msgpack.packb({**head, **fields})])
    socket.close(linger=1000)


if __name__ == "__main__":
    main()
