import unittest

from tidewater.guards import BrokenRecord
from tidewater.records.pilot import Pilot
from tidewater.records.tug import Tug

from tests.world import NOON, a_harbour, ask


class HelperTest(unittest.TestCase):
    def test_a_pilot_survives_his_row(self):
        pilot = Pilot("Ines", 180.0, 6, 18, tankers=True)
        self.assertEqual(Pilot.from_row(pilot.to_row()), pilot)

    def test_a_watch_may_pass_midnight(self):
        pilot = Pilot("Ines", 180.0, 22, 6)
        self.assertFalse(pilot.on_watch(NOON))
        self.assertTrue(pilot.on_watch(NOON.replace(hour=23)))
        self.assertTrue(pilot.on_watch(NOON.replace(hour=5)))

    def test_an_odd_watch_is_refused(self):
        harbour = a_harbour().built()
        self.assertIn("is no watch", ask(harbour, "pilot-add", "Ines", "--up-to", "90", "--watch", "all day").reason)

    def test_a_tug_survives_her_row(self):
        tug = Tug("Ox", 40.0, laid_up=True)
        self.assertEqual(Tug.from_row(tug.to_row()), tug)

    def test_no_tug_is_that_strong(self):
        with self.assertRaises(BrokenRecord):
            Tug("Ox", 500.0).checked()

    def test_a_tug_is_laid_up_once(self):
        harbour = a_harbour().with_tug("Ox").built()
        self.assertTrue(ask(harbour, "tug-lay-up", "Ox").is_settled)
        self.assertIn("already", ask(harbour, "tug-lay-up", "Ox").reason)
        self.assertTrue(ask(harbour, "tug-list", "--in-service").is_refused)


if __name__ == "__main__":
    unittest.main()
