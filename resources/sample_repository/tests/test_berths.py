import unittest

from tidewater.guards import BrokenRecord
from tidewater.ledgers.ledger import MissingRecord
from tidewater.records.berth import Berth

from tests.world import a_harbour, ask


class BerthTest(unittest.TestCase):
    def test_a_berth_survives_its_row(self):
        berth = Berth("North 1", 140.0, 9.5, has_crane=True)
        self.assertEqual(Berth.from_row(berth.to_row()), berth)

    def test_a_berth_needs_a_depth(self):
        with self.assertRaises(BrokenRecord):
            Berth("North 1", 140.0, 0.0).checked()

    def test_takes_what_fits_with_water_under_the_keel(self):
        berth = Berth("North 1", 140.0, 9.5)
        self.assertTrue(berth.takes(140.0, 8.9))
        self.assertFalse(berth.takes(140.0, 9.0))
        self.assertFalse(berth.takes(141.0, 4.0))

    def test_fetch_one_says_what_is_missing(self):
        harbour = a_harbour().with_berth("North 1").built()
        self.assertEqual(harbour.berths.fetch_one("  North   1 ").name, "North 1")
        with self.assertRaisesRegex(MissingRecord, "no berth South 2"):
            harbour.berths.fetch_one("South 2")

    def test_a_kept_berth_cannot_be_closed(self):
        harbour = a_harbour().with_berth("North 1").with_vessel("AURORA").with_tides().built()
        self.assertTrue(ask(harbour, "call-plan", "AURORA", "--arrives", "2031-05-04T12:00").is_settled)
        outcome = ask(harbour, "berth-close", "North 1")
        self.assertIn("AURORA keeps North 1", outcome.reason)

    def test_list_of_open_berths(self):
        harbour = a_harbour().with_berth("North 1").with_berth("South 2", closed=True).built()
        outcome = ask(harbour, "berth-list", "--open")
        self.assertEqual([berth.name for berth in outcome.value], ["North 1"])


if __name__ == "__main__":
    unittest.main()
