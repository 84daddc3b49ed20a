"""Everything that an extension must not do, one kind per start: `misbehaving.py KIND`.

The tests run each of them beside a good one.
"""

import json
import os
import signal
import subprocess
import sys
import time

import hermes

KIND = sys.argv[1]


def raw(data):
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def frame(body):
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def child():
    """A process that lives on, with all pipes of ours."""
    subprocess.Popen(["sleep", "600"])


def daemon():
    """A process that has left our group and our session, and does not go with them."""
    lasting = subprocess.Popen(["sleep", "600"], start_new_session=True)
    hermes.log(f"[INFO] a daemon: {lasting.pid}")


def patch(*patches):
    """What is still served after all that went wrong."""
    hermes.request("editor/patchMessage", patches=list(patches))
    hermes.log(f"[INFO] {KIND}: patched")


def forever():
    while True:
        time.sleep(600)


def request(id, method="editor/getMessage"):
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"format": "hl7"}}
    return frame(json.dumps(body).encode())


def flood(params):
    """Asks and asks, and never reads an answer."""
    for id in range(10_000):
        raw(request(id))
    forever()


def noise(params):
    print("a stray print")
    print("\nContent-Length\n\n")
    raw(b"no line end, then a message ")
    patch({"path": "PID.1", "value": "noise"})
    raw(b"\n\n{}\n")


def broken(params):
    """Each of these costs itself; the patch after them arrives."""
    deep = b"[" * 10_000 + b"]" * 10_000
    raw(frame(b'{"jsonrpc":"2.0","id":"utf8","method":"editor/getMessage\xff","params":{}}'))
    raw(frame(b'[{"jsonrpc":"2.0","method":"editor/getMessage"},7]'))
    raw(frame(b'{"jsonrpc":"2.0","id":null,"method":"editor/getMessage","params":{}}'))
    raw(frame(b'{"jsonrpc":"2.0","id":"deep","method":"editor/getMessage","params":' + deep + b"}"))
    raw(frame(b'{"jsonrpc":"2.0","id":"cut","method":"editor/getM'))
    raw(frame(b'{"jsonrpc":"1.0","id":"old","method":"editor/getMessage"}'))
    raw(b"Content-Length: -5\r\n\r\n")
    raw(b"Content-Length: 0\r\n\r\n")
    answers = []
    while len(answers) < 4:
        answers.append(hermes.receive())
    for answer in answers:
        hermes.log(f"[INFO] {answer['id']}: {answer['error']['code']}")
    patch({"path": "PID.1", "value": "broken"})


def huge(params):
    """Says that two gigabytes follow, and means it for a while."""
    raw(b"Content-Length: 2147483648\r\n\r\n")
    raw(b'{"jsonrpc":"2.0","id":"huge","method":"editor/setMessage",')
    for _ in range(2_000):
        raw(b"x" * 10_000)
    hermes.log(f"[INFO] huge: {hermes.receive()['error']['code']}")
    forever()


def long_work(params):
    """A long message, and as many patches of it as one request may have."""
    message = "MSH|^~\\&|A|B\rPID|1||123\rNTE|||" + "x" * 4_000_000 + "\r"
    hermes.request("editor/setMessage", format="hl7", message=message)
    patch(*[{"path": "ZZZ.1", "value": "nowhere"}] * 1_000)


def never_again(params):
    """Nothing that follows is a message."""
    for _ in range(1_000):
        raw(frame(b"nonsense"))
    forever()


def stderr(params):
    for line in range(100_000):
        print(f"[WARN] line {line}", file=sys.stderr)
    sys.stderr.flush()
    time.sleep(1.1)
    sys.stderr.buffer.write(b"not UTF-8: \xff\xfe\n" + b"x" * 100_000 + b"\n")
    hermes.log("the flood is over")
    patch({"path": "PID.1", "value": "stderr"})


def crash(params):
    hermes.log("[ERROR] out of luck")
    os._exit(7)


def leave_child(params):
    child()
    os._exit(3)


def start_daemon(params):
    daemon()


def leave_daemon(params):
    daemon()
    os._exit(3)


def close_output(params):
    os.close(1)
    forever()


COMMANDS = {
    "flood": flood,
    "noise": noise,
    "broken": broken,
    "huge": huge,
    "long-work": long_work,
    "never-again": never_again,
    "stderr": stderr,
    "crash": crash,
    "leave-child": leave_child,
    "start-daemon": start_daemon,
    "leave-daemon": leave_daemon,
    "close-output": close_output,
    "answers-and-lingers": lambda params: None,
    "spins-at-the-end": lambda params: None,
    "never-ends": lambda params: None,
    "asks-while-ending": lambda params: None,
    "tells-of-its-end": lambda params: None,
}

if KIND == "crash-in-initialize":
    hermes.log("[ERROR] cannot find my teeth")
    sys.exit(3)
elif KIND == "never-answers":
    child()
    forever()
elif KIND == "refuses":
    asked = hermes.receive()
    error = {"code": -32050, "message": "not today"}
    hermes.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    assert hermes.receive()["params"] == {"reason": "error"}
    try:
        hermes.request("editor/getMessage", format="hl7")
    except hermes.Refused as refused:
        hermes.log(f"[INFO] refused: {refused.code}")
    forever()
elif KIND == "nameless":
    asked = hermes.receive()
    hermes.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"version": "1"}})
    child()
    forever()

if KIND == "tells-of-its-end":
    # One that is told so with us: whoever is in our group.
    told = "trap 'echo [INFO] its child is told to end >&2' TERM; while :; do sleep 600 & wait; done"
    subprocess.Popen(["sh", "-c", told])

hermes.on("command/execute")(COMMANDS[KIND])


@hermes.on("shutdown")
def shutdown(params):
    if KIND == "answers-and-lingers":
        hermes.send({"jsonrpc": "2.0", "id": 2, "result": {}})
        child()
        forever()
    if KIND == "spins-at-the-end":
        # Reads on without an answer; its input is closed, and it goes round and round.
        hermes.log("[INFO] spinning")
        hermes.receive()
    if KIND == "never-ends":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child()
        forever()
    if KIND == "tells-of-its-end":
        # It does not answer, and does nothing of what it is told.
        signal.signal(signal.SIGTERM, lambda *_: hermes.log("[INFO] told to end"))
        while sys.stdin.read(1):
            pass
        hermes.log("[INFO] its input is closed")
        forever()
    if KIND == "asks-while-ending":
        try:
            # An answer that never comes to a thread that waits here: only being killed helps.
            hermes.request("ui/closeWindow", windowId="none")
        except hermes.Refused as refused:
            hermes.log(f"[INFO] while ending: {refused.code}")
    return {}


hermes.run("Misbehaving", commands=[KIND])
