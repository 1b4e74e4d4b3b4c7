import random
import unittest

from sensorhub_client.backoff import Backoff
from sensorhub_client.errors import AccessDenied, HubBusy, HubUnavailable, NotFound
from sensorhub_client.models import HoldTicket
from sensorhub_client.persistence import HoldPlan, Persistence

GONE = HubUnavailable("gone")


def backoff() -> Backoff:
    return Backoff(random.Random(1))


class BackoffTests(unittest.TestCase):
    def test_waits_grow_to_half_a_minute_and_start_again(self) -> None:
        pace = backoff()
        waits = [pace.next() for _ in range(20)]
        for index, wait in enumerate(waits):
            whole = min(0.5 * 2**index, 30)
            self.assertTrue(whole / 2 <= wait <= whole, waits)
        pace.reset()
        self.assertLessEqual(pace.next(), 0.5)
        self.assertEqual(pace.next(at_least=120), 120)


class PersistenceTests(unittest.TestCase):
    def test_the_first_failure_is_raised_unless_the_client_waits(self) -> None:
        with self.assertRaises(HubUnavailable):
            Persistence(wait=False, reconnect=True, backoff=backoff()).failed(GONE)
        with self.assertLogs("sensorhub_client", "WARNING") as logs:
            waiting = Persistence(wait=True, reconnect=True, backoff=backoff())
            self.assertTrue(0 < waiting.failed(GONE) < waiting.failed(GONE) * 4)
        self.assertEqual(logs.output, ["WARNING:sensorhub_client:gone; trying again"])

    def test_a_hub_that_has_answered_before_is_tried_again(self) -> None:
        persistence = Persistence(wait=False, reconnect=True, backoff=backoff())
        persistence.served()
        with self.assertLogs("sensorhub_client", "WARNING") as logs:
            persistence.failed(GONE)
            self.assertEqual(persistence.failed(HubBusy("busy", retry_after=10)), 10)
            persistence.served()
        self.assertEqual(len(logs.output), 2)
        self.assertIn("the hub is back", logs.output[1])

    def test_an_error_that_another_attempt_cannot_fix_is_raised(self) -> None:
        persistence = Persistence(wait=True, reconnect=True)
        persistence.served()
        with self.assertRaises(AccessDenied):
            persistence.failed(AccessDenied("no"))
        persistence = Persistence(wait=True, reconnect=False)
        persistence.served()
        with self.assertRaises(HubUnavailable):
            persistence.failed(GONE)


class HoldPlanTests(unittest.TestCase):
    def test_a_hold_that_the_hub_has_forgotten_is_taken_again(self) -> None:
        ticket = HoldTicket(id="a", device="gps", seconds=60)
        plan = HoldPlan("gps", 60, ticket, backoff())
        self.assertEqual(plan.prolonged(ticket), 20)
        with self.assertLogs("sensorhub_client", "WARNING"):
            self.assertLessEqual(plan.failed(GONE), 0.5)
        self.assertEqual((plan.failed(NotFound("over")), plan.ticket), (0, None))
        with self.assertLogs("sensorhub_client", "WARNING"):
            self.assertGreater(plan.failed(NotFound("no such device")), 0)
