import unittest
from datetime import timedelta

from tidewater.records.call import Call

from tests.world import NOON, a_harbour, ask

AT_NOON = ("--arrives", "2031-05-04T12:00")


class CallTest(unittest.TestCase):
    def test_a_call_survives_its_row(self):
        call = Call(3, "AURORA", "North 1", NOON, NOON + timedelta(hours=5), "Ines", ("Ox", "Bull"))
        self.assertEqual(Call.from_row(call.to_row()), call)

    def test_the_tightest_berth_is_taken(self):
        world = a_harbour().with_berth("Long", 200.0).with_berth("Short", 70.0).with_vessel("AURORA", 65.0)
        harbour = world.with_tides().built()
        self.assertEqual(ask(harbour, "call-plan", "AURORA", *AT_NOON).value.berth, "Short")

    def test_a_kept_berth_is_not_given_twice(self):
        world = a_harbour().with_berth("North 1").with_vessel("AURORA").with_vessel("BOREAS")
        harbour = world.with_tides().built()
        self.assertTrue(ask(harbour, "call-plan", "AURORA", *AT_NOON).is_settled)
        self.assertIn("kept at that time", ask(harbour, "call-plan", "BOREAS", *AT_NOON).reason)

    def test_a_long_vessel_gets_pilot_and_tugs(self):
        world = a_harbour().with_berth("North 1").with_vessel("ATLAS", 130.0, 6.0)
        world.with_pilot("Ines").with_pilot("Olaf", 140.0).with_tug("Ox", 40.0).with_tug("Bull", 60.0)
        call = ask(world.with_tides().built(), "call-plan", "ATLAS", *AT_NOON).value
        self.assertEqual((call.pilot, call.tugs), ("Olaf", ("Ox", "Bull")))

    def test_no_pilot_on_watch_is_a_reason(self):
        world = a_harbour().with_berth("North 1").with_vessel("ATLAS", 100.0, 6.0)
        harbour = world.with_pilot("Ines", watch_begins=18, watch_ends=6).with_tides().built()
        self.assertIn("on watch and free", ask(harbour, "call-plan", "ATLAS", *AT_NOON).reason)

    def test_a_sailed_call_stays_sailed(self):
        harbour = a_harbour().with_berth("North 1").with_vessel("AURORA").with_tides().built()
        ask(harbour, "call-plan", "AURORA", *AT_NOON)
        self.assertTrue(ask(harbour, "call-state", "1", "sailed").is_settled)
        self.assertIn("stays so", ask(harbour, "call-state", "1", "planned").reason)

    def test_shift_to_a_free_berth(self):
        world = a_harbour().with_berth("North 1").with_berth("South 2", 160.0).with_vessel("AURORA")
        harbour = world.with_tides().built()
        ask(harbour, "call-plan", "AURORA", *AT_NOON)
        self.assertEqual(ask(harbour, "call-shift", "1", "South 2").value.berth, "South 2")
        self.assertTrue(ask(harbour, "call-shift", "1", "East 9").is_refused)


if __name__ == "__main__":
    unittest.main()
