"""Prints a fix every ten minutes, good to 10 m; the receiver sleeps in between.

python3 fix_every_ten_minutes.py [hub.sock or http://host:8080]
"""

import sys

from sensorhub_client import Hub

with Hub(*sys.argv[1:2]) as hub:
    for fix in hub.fixes(every=600, accuracy=10, within=60):
        if fix.position is None or fix.schedule is None:
            print("no fix within a minute")
        else:
            print(fix.time, fix.position.latitude, fix.position.longitude, "good" if fix.schedule.met else "poor")
