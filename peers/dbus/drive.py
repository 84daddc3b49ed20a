"""A D-Bus client for the tests: calls come as JSON lines, answers go as JSON lines.

    {"id": 1, "interface": "Chat", "method": "Complete", "body": ["fast", [{"role": "user"}], {}]}
    {"id": 1, "reply": [{"success": {"type": "b", "data": true}, ...}]}
                                                        or {"id": 1, "error": name, "text": text}
    {"signal": "ProviderAdded", "body": ["prov_1"]}

Types come from the introspection. Inside a variant a text is s, a whole number i (x where it does
not fit), a list of objects aa{sv}, an object a{sv}; {"$": ["u", 2]} says it. A descriptor that
comes back is kept: {"id": 2, "line": true} reads its next line.
"""

import asyncio
import json
import sys

from dbus_next import Message, MessageType, Variant
from dbus_next.aio import MessageBus
from dbus_next.signature import SignatureTree

NAME = "org.althing.Capability1"
PATH = "/org/althing/Capability1"


def variant(value):
    if isinstance(value, bool):
        return Variant("b", value)
    if isinstance(value, int):
        return Variant("i" if -(2**31) <= value < 2**31 else "x", value)
    if isinstance(value, float):
        return Variant("d", value)
    if isinstance(value, str):
        return Variant("s", value)
    if isinstance(value, dict) and list(value) == ["$"]:
        return Variant(*value["$"])
    signature = "a{sv}" if isinstance(value, dict) else "aa{sv}"
    return Variant(signature, typed(SignatureTree._get(signature).types[0], value))


def typed(kind, value):
    if kind.token == "v":
        return variant(value)
    if kind.token == "a" and kind.children[0].token == "{":
        return {key: typed(kind.children[0].children[1], it) for key, it in value.items()}
    if kind.token == "a":
        return [typed(kind.children[0], it) for it in value]
    return value


def shown(value):
    if isinstance(value, Variant):
        return {"type": value.signature, "data": shown(value.value)}
    if isinstance(value, dict):
        return {key: shown(it) for key, it in value.items()}
    if isinstance(value, list):
        return [shown(it) for it in value]
    return value


def say(**line):
    print(json.dumps(line), flush=True)


async def call(bus, methods, wanted, lanes):
    if "line" in wanted:
        line = await asyncio.get_running_loop().run_in_executor(None, lanes[-1].readline)
        return say(id=wanted["id"], line=line)
    interface = NAME + "." + wanted["interface"]
    signature = methods[interface, wanted["method"]]
    kinds = SignatureTree._get(signature).types
    body = [typed(kind, value) for kind, value in zip(kinds, wanted["body"], strict=True)]
    message = Message(NAME, PATH, interface, wanted["method"], signature=signature, body=body)
    reply = await bus.call(message)
    if reply.message_type == MessageType.ERROR:
        return say(id=wanted["id"], error=reply.error_name, text=reply.body[0])
    lanes.extend(open(fd, encoding="utf-8") for fd in reply.unix_fds)
    say(id=wanted["id"], reply=shown(reply.body))


async def main():
    bus = await MessageBus(negotiate_unix_fd=True).connect()
    node = await bus.introspect(NAME, PATH)
    methods = {(it.name, method.name): method.in_signature
               for it in node.interfaces for method in it.methods}
    rule = f"type='signal',sender='{NAME}',path='{PATH}'"
    await bus.call(Message("org.freedesktop.DBus", "/org/freedesktop/DBus",
                           "org.freedesktop.DBus", "AddMatch", signature="s", body=[rule]))

    def heard(message):
        if message.message_type == MessageType.SIGNAL and message.path == PATH:
            say(signal=message.member, body=message.body)

    bus.add_message_handler(heard)
    say(ready=bus.unique_name)
    lines, lanes, running = asyncio.StreamReader(limit=2**26), [], set()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        task = asyncio.create_task(call(bus, methods, json.loads(line), lanes))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main())
