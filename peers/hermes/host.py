"""A host on python-lsp-jsonrpc: `host.py PROGRAM` runs an extension that is on our own library."""

import json
import subprocess
import sys
import threading

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

WAIT = 60
MESSAGE = "MSH|^~\\&|Zoë 🙂\rPID|1\r"
patched = threading.Event()
values = []


def patch(params):
    values.append(params["patches"][0]["value"])
    patched.set()
    return {"success": True, "patchesApplied": 1}


child = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
dispatcher = {
    "editor/getMessage": lambda params: {"message": MESSAGE, "hasFile": False},
    "editor/patchMessage": patch,
}
endpoint = Endpoint(dispatcher, JsonRpcStreamWriter(child.stdin).write)
listen = JsonRpcStreamReader(child.stdout).listen
threading.Thread(target=listen, args=(endpoint.consume,), daemon=True).start()
name = endpoint.request("initialize", {"apiVersion": "1.0"}).result(WAIT)["name"]
endpoint.notify("command/execute", {"command": "rust/run"})
patched.wait(WAIT)
asked = [endpoint.request("shutdown", {"reason": "closing"}) for _ in range(3)]
answers = [it.result(WAIT) for it in asked]
try:
    endpoint.request("no/such", {}).result(WAIT)
except JsonRpcException as error:
    refused = error.code
same = values == [MESSAGE]
print(json.dumps({"name": name, "same": same, "answers": len(answers), "refused": refused}))
child.stdin.close()
sys.exit(child.wait())
