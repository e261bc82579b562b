import unittest
from datetime import timedelta

from tidewater.planning.water import first_passage, height_at, plan_windows

from tests.world import NOON, a_harbour, ask


class WaterTest(unittest.TestCase):
    def setUp(self):
        self.harbour = a_harbour().with_tides(NOON, low=0.4, high=4.6).built()
        self.tides = self.harbour.tides.fetch_many(NOON - timedelta(days=1), NOON + timedelta(days=2))

    def test_the_water_follows_the_turns(self):
        self.assertAlmostEqual(height_at(self.tides, NOON).value, 4.6)
        self.assertAlmostEqual(height_at(self.tides, NOON + timedelta(hours=3)).value, 2.5)

    def test_nothing_is_known_beyond_the_table(self):
        outcome = height_at(self.tides, NOON + timedelta(days=9))
        self.assertIn("no tide is known", outcome.reason)

    def test_a_shallow_hull_always_passes(self):
        windows = plan_windows(self.tides, 3.0, NOON, NOON + timedelta(hours=12)).value
        self.assertEqual(len(windows), 1)

    def test_a_deep_hull_passes_around_high_water(self):
        windows = plan_windows(self.tides, 7.5, NOON - timedelta(hours=6), NOON + timedelta(hours=6)).value
        self.assertEqual(len(windows), 1)
        self.assertTrue(windows[0].holds(NOON))
        self.assertFalse(windows[0].holds(NOON + timedelta(hours=5)))

    def test_waiting_is_noted(self):
        outcome = first_passage(self.tides, 7.5, NOON + timedelta(hours=5), timedelta(hours=14))
        self.assertTrue(outcome.is_settled)
        self.assertIn("waits for the tide", outcome.notes[0])

    def test_windows_on_the_command_line(self):
        outcome = ask(self.harbour, "tide-windows", "7.5", "2031-05-04T06:00", "--for", "12h")
        self.assertEqual(len(list(outcome.lines())), 1)


if __name__ == "__main__":
    unittest.main()
