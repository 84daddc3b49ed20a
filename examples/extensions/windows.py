"""Opens a window on a small server of its own, and closes it when it is done."""

import http.server
import threading

import hermes

PAGE = b"<!doctype html><title>Window</title><p>A page of an extension."


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
opened = []


@hermes.on("command/execute")
def command(params):
    if params["command"] == "windows/open":
        url = f"http://127.0.0.1:{server.server_port}/"
        window = hermes.request("ui/openWindow", url=url, title="Window", width=640, height=480)
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


hermes.run("Windows", commands=["windows/open", "windows/close"])
