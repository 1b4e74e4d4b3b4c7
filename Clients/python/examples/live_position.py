"""Prints the position of the board once a second, until Ctrl-C. Wakes only the receiver.

python3 live_position.py [hub.sock or http://host:8080]
"""

import sys

from sensorhub_client import Hub

with Hub(*sys.argv[1:2]) as hub:
    for state in hub.states(rate=1, parts=["position"]):
        if state.position is None:
            print("no position yet")
        else:
            print(f"{state.position.latitude:.6f} {state.position.longitude:.6f}, {state.position.age:.1f} s old")
