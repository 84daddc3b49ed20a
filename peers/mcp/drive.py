"""Drives `althing mcp` with the official client: argv is the mode, then the command to start."""

import os
import sys

import anyio
from mcp import Client, StdioServerParameters


def text(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def main():
    mode, command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        print("tools:", " ".join(tool.name for tool in tools.tools))
        for tool in tools.tools:
            assert tool.description and tool.input_schema["type"] == "object", tool

        listed = await client.call_tool("models")
        print("models:", text(listed).replace("\n", " | "))

        told = []

        async def progress(done, total, message):
            told.append((done, message))

        said = await client.call_tool(
            "complete", {"model": "openai:ada", "prompt": "Hello?"}, progress_callback=progress
        )
        assert not said.is_error, said
        print("complete:", text(said))

        asked = await client.call_tool(
            "ask",
            {"question": "Is rain wet?", "models": ["openai:ada", "openai:bob"]},
            progress_callback=progress,
        )
        assert not asked.is_error, asked
        print("ask:", text(asked).replace("\n", " | "))
        steps = [done for done, _ in told]
        assert steps == sorted(set(steps)) and len(steps) > 5, told
        print("progress:", " | ".join(message for _, message in told))

        planned = await client.call_tool(
            "plan",
            {"task": "Stay dry", "planners": ["demo:builder", "demo:scout"], "judge": "demo:skeptic",
             "preferences": {"max_plans": 1, "random_seed": 7}},
        )
        assert not planned.is_error, planned
        print("plan:", text(planned).replace("\n", " | "))

        for name, arguments in [
            ("plan", {"task": " "}),
            ("plan", {"task": "Stay dry", "preferences": {"max_plans": 17}}),
            ("complete", {"model": "openai:err-429", "prompt": "Hello?"}),
            ("complete", {"model": "nobody", "prompt": "Hello?"}),
            ("complete", {"prompt": "Hello?"}),
            ("ask", {"question": "", "models": ["openai:ada", "openai:bob"]}),
            ("ask", {"question": "Why?", "rounds": 11}),
        ]:
            failed = await client.call_tool(name, arguments)
            assert failed.is_error, failed
            print("failed:", text(failed))
        try:
            await client.call_tool("no-such-tool", {})
            print("unknown: was called")
        except Exception as error:
            print("unknown:", error)

        with anyio.move_on_after(1) as hang:
            await client.call_tool("complete", {"model": "openai:hang", "prompt": "Hello?"})
        assert hang.cancelled_caught
        again = await client.call_tool("complete", {"model": "openai:ada", "prompt": "Still there?"})
        print("after a cancel:", text(again))


anyio.run(main)
