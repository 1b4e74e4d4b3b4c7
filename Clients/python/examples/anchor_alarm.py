"""Rings when the board is more than 40 m from its place at the start. The receiver sleeps between the fixes.

python3 anchor_alarm.py [hub.sock or http://host:8080]
"""

import os
import sys

from sensorhub_client import Hub

radius, every = float(os.environ.get("RADIUS", 40)), float(os.environ.get("EVERY", 30))
with Hub(*sys.argv[1:2]) as hub:
    fixes = hub.fixes(every=every, accuracy=10, within=30)
    anchor = next(fix.position for fix in fixes if fix.position)
    for fix in fixes:
        away = fix.position.distance_to(anchor) if fix.position else None
        print("no fix" if away is None else f"{away:.0f} m" if away < radius else f"\aDRAGGING: {away:.0f} m")
