"""Changes the message in all the ways there are."""

import json

import hermes


def patch(*patches):
    report = hermes.request("editor/patchMessage", patches=list(patches))
    for error in report.get("errors", []):
        hermes.log(f"[WARN] {error['path']}: {error['message']}")
    return report


def fill():
    """A next of kin, and a street and a city in one address."""
    patch(
        {"path": "NK1", "create": True},
        {"path": "NK1.2.1", "value": "DOE"},
        {"path": "NK1.2.2", "value": "ZOË & CO"},
        {"path": "PID.11.1", "value": "12 Main Street"},
        {"path": "PID.11.3", "value": "Springfield"},
        {"path": "PID.5.1xyz", "value": "refused"},
    )


def anonymise():
    """Everything personal goes, through the tree."""
    tree = json.loads(hermes.request("editor/getMessage", format="json")["message"])
    for segment in tree["segments"]:
        if segment["segment"] == "PID":
            fields = segment["fields"].items()
            segment["fields"] = {key: value for key, value in fields if int(key) <= 3}
    hermes.request("editor/setMessage", message=json.dumps(tree), format="json")


def upper():
    text = hermes.request("editor/getMessage", format="hl7")["message"]
    answer = hermes.request("editor/setMessage", message=text.upper(), format="hl7")
    if not answer["success"]:
        hermes.log(f"[ERROR] {answer['error']}")


COMMANDS = {"editor/fill": fill, "editor/anonymise": anonymise, "editor/upper": upper}


@hermes.on("command/execute")
def command(params):
    COMMANDS[params["command"]]()


hermes.run("Editor", commands=COMMANDS)
