#!/usr/bin/env python3
"""Asks a model of the person's, and prints the answer as it comes. Needs dbus-next."""

import asyncio
import sys

from dbus_next import DBusError, Message, MessageType, Variant
from dbus_next.aio import MessageBus

NAME = "org.althing.Capability1"
PATH = "/org/althing/Capability1"


class Althing:
    def __init__(self, bus):
        self.bus = bus

    async def ask(self, request, **fields):
        """One request in its message form; the response as plain values."""
        reply = await self.bus.call(Message(
            NAME, PATH, NAME + ".Messages", request, signature="a{sv}", body=[fields]))
        if reply.message_type == MessageType.ERROR:
            raise DBusError(reply.error_name, reply.body[0], reply)
        response = plain(reply.body[0])
        if not response["success"]:
            raise RuntimeError(f"{response['error_code']}: {response['message']}")
        return response


def plain(value):
    if isinstance(value, Variant):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(it) for key, it in value.items()}
    return [plain(it) for it in value] if isinstance(value, list) else value


def text(value):
    return Variant("s", value)


async def main(question, model=None):
    althing = Althing(await MessageBus().connect())
    if model is None:
        models = (await althing.ask("GetModels"))["models"]
        model = next((f"{it['provider_id']}:{it['model_id']}" for it in models if it["enabled"]), None)
        if model is None:
            sys.exit("no model yet: `althing providers add openai` adds some")
    stream = (await althing.ask("CreateStream", model_id=text(model)))["stream_id"]
    message = Variant("a{sv}", {"role": text("user"), "content": text(question)})
    await althing.ask("SendMessage", stream_id=text(stream), message=message)
    done = False
    while not done:
        piece = await althing.ask("ReceiveStream", stream_id=text(stream), max_chunks=Variant("i", 16))
        # What a model says is not to be trusted with a terminal.
        said = piece.get("chunk", {}).get("content", "")
        print("".join(c if c.isprintable() or c in "\n\t" else "?" for c in said), end="", flush=True)
        done = piece.get("done", False)
    print(f"\n-- {model}, {piece.get('usage', {})}", file=sys.stderr)
    await althing.ask("CloseStream", stream_id=text(stream))


if len(sys.argv) not in (2, 3):
    sys.exit('usage: chat.py "question" [model]')
try:
    asyncio.run(main(*sys.argv[1:]))
except (DBusError, RuntimeError) as error:
    sys.exit(f"chat.py: {error}")
