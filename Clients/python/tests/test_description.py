"""The models have every key of the hub's own description. Runs only in a checkout of the hub."""

import os
import re
import typing
import unittest
from pathlib import Path

from sensorhub_client.decoding import members
from sensorhub_client.models import Device, Fence, HeldDevice, HoldTicket, PowerChange, Record, RecordingFile, State

CHECKOUT = Path(os.environ.get("SENSORHUB_CHECKOUT", Path(__file__).parents[3]))
DESCRIPTION = CHECKOUT / "Sources/Outputs/HTTP/openapi.yaml"

LINE = re.compile(r'^( *)(?:- )?("?[$\w]+"?):(.*)$')


def described(schema: str, text: str) -> set[str]:
    """The keys of a schema; those of inner objects as ``outer.inner``. Reads only the part of YAML that the description uses."""
    body = text.split(f"\n    {schema}:\n", 1)[1]
    keys: set[str] = set()
    stack: list[tuple[int, str]] = []
    for line in body.splitlines():
        if line.strip() and not line.startswith("      "):
            break
        found = LINE.match(line)
        if not found:
            continue
        indent = len(found[1]) + (2 if line.lstrip().startswith("- ") else 0)
        while stack and stack[-1][0] >= indent:
            stack.pop()
        name, rest = found[2].strip('"'), found[3]
        path = [key for (_, outer), (_, key) in zip(stack, stack[1:], strict=False) if outer == "properties"]
        if stack and stack[-1][1] == "properties":
            path.append(name)
            keys.add(".".join(path))
        if reference := re.search(r"#/components/schemas/(\w+)", rest):
            keys |= {".".join([*path, key]) for key in described(reference[1], text)}
        stack.append((indent, name))
    return keys


def modelled(cls: type[Record]) -> set[str]:
    keys = set()
    for key, member in members(cls).items():
        keys.add(key)
        for inner in inner_records(member.type):
            keys |= {f"{key}.{one}" for one in modelled(inner)}
    return keys


def inner_records(hint: object) -> list[type[Record]]:
    if isinstance(hint, type) and issubclass(hint, Record):
        return [hint]
    return [record for argument in typing.get_args(hint) for record in inner_records(argument)]


@unittest.skipUnless(DESCRIPTION.exists(), "no checkout of the hub")
class DescriptionTests(unittest.TestCase):
    def test_every_described_key_is_modelled(self) -> None:
        text = DESCRIPTION.read_text()
        pairs: list[tuple[str, str, type[Record]]] = [
            ("State", "", State), ("Devices", "devices.", Device), ("Fence", "", Fence), ("Hold", "", HoldTicket),
            ("Holds", "holds.", HeldDevice), ("PowerHistory", "changes.", PowerChange),
            ("Recordings", "recordings.", RecordingFile),
        ]  # fmt: skip
        for schema, prefix, cls in pairs:
            keys = {key.removeprefix(prefix) for key in described(schema, text) if key.startswith(prefix)}
            self.assertGreater(len(keys), 2, schema)
            self.assertEqual(keys - modelled(cls) - {"class"}, set(), f"{cls.__name__} lacks these keys of {schema}")
