import json
import unittest
from datetime import UTC, datetime

from sensorhub_client.decoding import decode
from sensorhub_client.errors import ProtocolError
from sensorhub_client.models import Device, Position, Record, State

STATE = json.loads(
    """{"class":"STATE","mode":"fused","time":"2026-11-27T15:08:10.653Z","timeConfirmed":false,"monotonic":3798,
    "position":{"lat":52.5,"lon":13.25,"altHAE":78.8,"sigmaHorizontal":0.8,"age":0.05,"source":"gps+imu","grid":"JO62"},
    "attitude":{"roll":1.5,"pitch":-2,"sigmaInclination":0.1,"q":[1,0,0,0],"age":0.01,"source":"imu"},
    "magneticField":{"x":1,"y":2,"z":3,"age":0,"source":"mag"},
    "schedule":{"met":true,"still":false,"late":0,"every":60,"within":45,"relaxed":{"every":300}},"tides":[1,2]}"""
)


class DecodingTests(unittest.TestCase):
    def test_a_state_has_its_parts(self) -> None:
        state = decode(State, STATE)
        self.assertEqual(state.time, datetime(2026, 11, 27, 15, 8, 10, 653000, UTC))
        assert state.position and state.attitude and state.magnetic_field and state.schedule and state.schedule.relaxed
        self.assertEqual((state.position.latitude, state.position.longitude, state.position.altitude_hae), (52.5, 13.25, 78.8))
        self.assertEqual((state.attitude.pitch, state.attitude.yaw, state.attitude.quaternion), (-2.0, None, (1.0, 0.0, 0.0, 0.0)))
        self.assertEqual(state.magnetic_field.z, 3.0)
        self.assertEqual(state.schedule.relaxed.every, 300)
        self.assertIsNone(state.velocity)

    def test_unknown_keys_are_kept(self) -> None:
        state = decode(State, STATE)
        self.assertEqual(state.extra, {"tides": [1, 2]})
        assert state.position
        self.assertEqual(state.position.extra, {"grid": "JO62"})

    def test_a_printed_state_leaves_out_unknown_members(self) -> None:
        self.assertEqual(repr(decode(State, {"mode": "none", "monotonic": 0})), "State(mode='none', monotonic=0.0)")

    def test_null_is_unknown(self) -> None:
        self.assertIsNone(decode(State, {"mode": "none", "monotonic": 1, "position": None}).position)

    def test_nonsense_names_its_place(self) -> None:
        wrong: list[tuple[type[Record], object, str]] = [
            (State, {"monotonic": 1}, "lacks 'mode'"),
            (State, {"mode": "none", "monotonic": "1"}, "'monotonic' is not a number"),
            (State, {"mode": "none", "monotonic": True}, "'monotonic' is not a number"),
            (State, {"mode": 1, "monotonic": 1}, "'mode' is not a str"),
            (State, {**STATE, "time": "yesterday"}, "'time' is not a time"),
            (State, {**STATE, "time": "2026-11-27T15:08:10"}, "'time' is not a time in UTC"),
            (State, {**STATE, "position": {"lat": 1, "age": 0, "source": "gps"}}, "lacks 'position.lon'"),
            (State, {**STATE, "attitude": {**STATE["attitude"], "q": 3}}, "'attitude.q' is not a list"),
            (State, [], "'State' is not an object"),
            (Device, {"id": "gps"}, "lacks 'kind'"),
        ]
        for cls, data, message in wrong:
            with self.assertRaisesRegex(ProtocolError, message):
                decode(cls, data)

    def test_distances(self) -> None:
        def at(latitude: float, longitude: float) -> Position:
            return Position(age=0, source="gps", latitude=latitude, longitude=longitude)

        self.assertAlmostEqual(at(0, 0).distance_to(at(0, 1)), 111_195, delta=1)
        self.assertAlmostEqual(at(54, 179.999).distance_to(at(54, -179.999)), 130.7, delta=0.1)
        self.assertEqual(at(54, 10).distance_to(at(54, 10)), 0)
        self.assertIsNone(at(0, 0).radius_95)
