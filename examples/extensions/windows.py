"""Opens a window on a small server of its own, and closes it when it is done."""

import http.server
import threading

import hermes

PAGE = b"<!doctype html><title>Window</title><p>A page of an extension."


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        if self.path == "/alone":
            # Cut off from the page that opened it: that one cannot see whether it is closed.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
opened = []

SIZE = {"title": "Window", "width": 640, "height": 480}
KINDS = {
    "windows/open": ("/", {}),
    "windows/modal": ("/", {"modal": True, "resizable": False}),
    "windows/alone": ("/alone", {}),
}


@hermes.on("command/execute")
def command(params):
    if params["command"] in KINDS:
        path, more = KINDS[params["command"]]
        url = f"http://127.0.0.1:{server.server_port}{path}"
        window = hermes.request("ui/openWindow", url=url, **SIZE, **more)
        opened.append(window["windowId"])
    elif opened:
        hermes.request("ui/closeWindow", windowId=opened.pop())


@hermes.on("window/closed")
def closed(params):
    hermes.log(f"[INFO] window closed: {params['reason']}")
    if params["windowId"] in opened:
        opened.remove(params["windowId"])


@hermes.on("shutdown")
def shutdown(params):
    hermes.log(f"[INFO] shutdown: {params['reason']}")
    return {"success": True}


ICON = '<svg viewBox="0 0 16 16"><rect x="2" y="3" width="12" height="10" fill="none" stroke="#000"/></svg>'


def button(word):
    """Those of one group stand together."""
    command = f"windows/{word.lower()}"
    return {"id": word, "label": word, "icon": ICON, "command": command, "group": "Windows"}


hermes.run(
    "Windows",
    commands=[*KINDS, "windows/close"],
    buttons=[button("Open"), button("Close")],
)
