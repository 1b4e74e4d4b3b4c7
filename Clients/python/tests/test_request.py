import unittest
from datetime import UTC, datetime
from typing import Any

from sensorhub_client import request as requests


class RequestTests(unittest.TestCase):
    def test_omitted_keys_are_not_sent(self) -> None:
        self.assertEqual(requests.states(None, None, None), {})
        self.assertEqual(requests.query({}), "")
        self.assertEqual(requests.states(2, ("position",), {"distance": 5}), {"rateHz": 2, "parts": ["position"], "distance": 5})
        self.assertEqual(requests.fixes(60, 10, None, None), {"every": 60, "accuracy": 10})

    def test_urls_have_plain_decimals(self) -> None:
        request = requests.states(0.01, ["position", "motion"], None)
        self.assertEqual(requests.query(request), "?rate=0.01&parts=position,motion")
        self.assertEqual(requests.query({"every": 604800.0, "hold": "a&b"}), "?every=604800&hold=a%26b")
        self.assertEqual(requests.query({"simplify": 0.0}), "?simplify=0")

    def test_a_request_that_no_hub_accepts_is_refused_by_the_client(self) -> None:
        wrong: list[tuple[Any, str]] = [
            (lambda: requests.states(0, None, None), "rate must be from 0.01 to 1000"),
            (lambda: requests.states(float("nan"), None, None), "rate must be from"),
            (lambda: requests.states("2", None, None), "rate must be a number"),  # type: ignore[arg-type]
            (lambda: requests.states(None, "position", None), r"parts=\['position'\]"),
            (lambda: requests.states(None, [], None), "leave it out for all"),
            (lambda: requests.states(None, ["altitud"], None), "no part 'altitud'; valid ones are position"),
            (lambda: requests.fixes(0.5, None, None, None), "every must be from 1"),
            (lambda: requests.fixes(60, 0, None, None), "accuracy must be from 0.1"),
            (lambda: requests.fixes(60, None, 7200, None), "within must be from 1 to 3600"),
            (lambda: requests.hold_seconds(0), "seconds must be from 1"),
            (lambda: requests.moment("start", datetime(2026, 1, 1)), r"start has no time zone; start\.astimezone"),
        ]
        for ask, message in wrong:
            with self.assertRaisesRegex(ValueError, message):
                ask()

    def test_instants(self) -> None:
        self.assertEqual(requests.moment("start", datetime(2026, 11, 22, 10, tzinfo=UTC)), "1795341600")
        self.assertEqual(requests.moment("start", 1795341600.5), "1795341600.5")
