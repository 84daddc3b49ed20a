"""An extension on python-lsp-jsonrpc: our host is the other side."""

import sys
import threading

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

WAIT = 60


def run():
    formats = ["hl7", "json", "yaml", "toml"]
    asked = [endpoint.request("editor/getMessage", {"format": it}) for it in formats]
    text = [it.result(WAIT)["message"] for it in asked][0]
    try:
        endpoint.request("no/such", {}).result(WAIT)
    except JsonRpcException as error:
        value = f"{len(text)} {error.code} 🙂"
    patches = [{"path": "PID.2", "value": value}]
    endpoint.request("editor/patchMessage", {"patches": patches}).result(WAIT)


capabilities = {"commands": ["python/run"]}
dispatcher = {
    "initialize": lambda params: {"name": "pylsp", "version": "1", "capabilities": capabilities},
    "shutdown": lambda params: {"success": True},
    "command/execute": lambda params: threading.Thread(target=run).start(),
}
writer = JsonRpcStreamWriter(sys.stdout.buffer)
endpoint = Endpoint(dispatcher, writer.write)
JsonRpcStreamReader(sys.stdin.buffer).listen(endpoint.consume)
endpoint.shutdown()
