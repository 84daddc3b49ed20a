"""Calls workers' functions through `althing mcp` with the official client: argv is the command."""

import os
import sys

import anyio
from mcp import Client, StdioServerParameters


def text(result):
    return "".join(block.text for block in result.content if block.type == "text")


async def main():
    command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode="auto") as client:
        tools = (await client.list_tools()).tools
        print("tools:", " ".join(tool.name for tool in tools))
        add = next(tool for tool in tools if tool.name == "calc_add")
        print("about:", add.description)
        print("wanted:", " ".join(add.input_schema["properties"]))
        print("add:", text(await client.call_tool("calc_add", {"b": 2, "a": 40})))
        for name, arguments in [
            ("calc_add", {"a": 1}),
            ("calc_add", {"a": 1, "b": 2, "c": 3}),
            ("calc_mean", {"numbers": []}),
        ]:
            failed = await client.call_tool(name, arguments)
            assert failed.is_error, failed
            print("failed:", text(failed))
        try:
            await client.call_tool("calc_pow", {})
            print("unknown: was called")
        except Exception as error:
            print("unknown:", error)
        said = await client.call_tool("complete", {"model": "openai:ada", "prompt": "Hello?"})
        print("complete:", text(said))


anyio.run(main)
