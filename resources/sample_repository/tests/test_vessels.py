import unittest

from tidewater.guards import BrokenRecord
from tidewater.records.vessel import Vessel

from tests.world import a_harbour, ask


class VesselTest(unittest.TestCase):
    def test_a_vessel_survives_her_row(self):
        vessel = Vessel("AURORA", "Aurora", "ferry", 88.0, 4.4, has_thruster=True)
        self.assertEqual(Vessel.from_row(vessel.to_row()), vessel)

    def test_an_odd_call_sign_is_broken(self):
        for sign in ("", "a b", "TOOLONGSIGN", "1AB"):
            with self.assertRaises(BrokenRecord):
                Vessel(sign, "Aurora", "ferry", 88.0, 4.4).checked()

    def test_tugs_follow_from_the_hull(self):
        self.assertEqual(Vessel("AAA", "A", "cargo", 90.0, 5.0).tugs_needed(), 0)
        self.assertEqual(Vessel("AAA", "A", "cargo", 120.0, 5.0).tugs_needed(), 2)
        self.assertEqual(Vessel("AAA", "A", "cargo", 120.0, 5.0, has_thruster=True).tugs_needed(), 1)
        self.assertEqual(Vessel("AAA", "A", "tanker", 60.0, 5.0).tugs_needed(), 1)

    def test_add_and_list(self):
        harbour = a_harbour().built()
        added = ask(harbour, "vessel-add", "aurora", "Aurora", "--kind", "ferry", "--length", "88", "--draught", "4.4")
        self.assertEqual(added.value.call_sign, "AURORA")
        listed = ask(harbour, "vessel-list", "--kind", "ferry")
        self.assertEqual([vessel.name for vessel in listed.value], ["Aurora"])
        self.assertTrue(ask(harbour, "vessel-list", "--kind", "yacht").is_refused)

    def test_a_vessel_with_an_open_call_stays(self):
        harbour = a_harbour().with_berth("North 1").with_vessel("AURORA").with_tides().built()
        ask(harbour, "call-plan", "AURORA", "--arrives", "2031-05-04T12:00")
        self.assertIn("open call", ask(harbour, "vessel-forget", "AURORA").reason)


if __name__ == "__main__":
    unittest.main()
