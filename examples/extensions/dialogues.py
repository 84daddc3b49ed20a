"""Asks the person everything there is to ask, and writes the answers into the message."""

import hermes

FILTERS = [{"name": "HL7", "extensions": ["hl7", "txt"]}]


@hermes.on("command/execute")
def command(params):
    question = {"title": "Dialogues", "message": "Are you sure?", "buttons": "yesNo"}
    if not hermes.request("ui/showConfirm", **question)["confirmed"]:
        hermes.request("ui/showMessage", message="Then not.", kind="warning")
        return
    one = hermes.request("ui/openFile", title="One file", filters=FILTERS)["path"]
    many = hermes.request("ui/openFiles", title="Many files")["paths"]
    target = {"title": "Save", "defaultName": "out.hl7", "filters": FILTERS}
    save = hermes.request("ui/saveFile", **target)["path"]
    folder = hermes.request("ui/selectDirectory", title="Folder")["path"]
    note = f"one={one} many={','.join(many or [])} save={save} folder={folder}"
    patches = [{"path": "NTE", "create": True}, {"path": "NTE.3", "value": note}]
    hermes.request("editor/patchMessage", patches=patches)


hermes.run("Dialogues", commands=["dialogues/all"])
