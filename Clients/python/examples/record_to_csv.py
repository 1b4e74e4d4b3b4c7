"""Writes time, position and speed to a CSV file, twice a second, until Ctrl-C.

python3 record_to_csv.py FILE [hub.sock or http://host:8080]
"""

import csv
import sys

from sensorhub_client import Hub

with open(sys.argv[1], "w", newline="", buffering=1) as file, Hub(*sys.argv[2:3]) as hub:
    table = csv.writer(file)
    table.writerow(["time", "latitude", "longitude", "metres a second"])
    for state in hub.states(rate=2, parts=["position", "motion"]):
        if state.position and state.velocity:
            table.writerow([state.time, state.position.latitude, state.position.longitude, state.velocity.speed])
