"""Shows the message, and counts how often it was asked to."""

import hermes

count = 0


@hermes.on("command/execute")
def command(params):
    global count
    count += 1
    message = hermes.request("editor/getMessage", format="hl7")
    where = message.get("filePath", "no file")
    first = message["message"].splitlines()[0] if message["message"] else "nothing"
    hermes.log(f"[INFO] {count}: {first} ({where})")
    hermes.request("ui/showMessage", title="Echo", message=f"{count}: {first}", kind="info")


# As Hermes has them: without a namespace.
ICON = '<svg viewBox="0 0 16 16"><circle cx="8" cy="8" r="6"/></svg>'

hermes.run(
    "Echo",
    commands=["echo/show"],
    buttons=[{"id": "echo", "label": "Echo", "icon": ICON, "command": "echo/show"}],
)
