"""Reads a message's views as other programs do: three trees on standard output must be one."""

import json
import sys
import tomllib

import yaml

views = json.load(sys.stdin)


def texts(tree):
    """Keys as text, and nothing as an empty text: what the three formats differ in by nature."""
    if isinstance(tree, dict):
        return {str(key): texts(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [texts(value) for value in tree]
    assert tree is None or isinstance(tree, str), tree
    return tree or ""


trees = [json.loads(views["json"]), yaml.safe_load(views["yaml"]), tomllib.loads(views["toml"])]
first, second, third = (texts(tree) for tree in trees)
assert first == second, (first, second)
assert first == third, (first, third)
print("the same")
