"""Prints roll and pitch 50 times a second, with asyncio. Wakes only the inertial sensor.

python3 attitude_50hz.py [hub.sock or http://host:8080]
"""

import asyncio
import sys

from sensorhub_client import AsyncHub


async def main() -> None:
    async with AsyncHub(*sys.argv[1:2]) as hub:
        async for state in hub.states(rate=50, parts=["attitude"]):
            if state.attitude:
                print(f"roll {state.attitude.roll:+6.1f}°  pitch {state.attitude.pitch:+6.1f}°")


asyncio.run(main())
