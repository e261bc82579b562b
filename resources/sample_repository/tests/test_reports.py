import unittest
from datetime import timedelta

from tidewater.records.call import Call
from tidewater.reports.day_sheet import day_entries, day_lines
from tidewater.reports.table import Column, table_lines

from tests.world import NOON, a_harbour, ask


class ReportTest(unittest.TestCase):
    def test_long_cells_are_cut(self):
        lines = table_lines([Column("name", 5)], [{"name": "Aurora Borealis"}])
        self.assertEqual(lines, ["name", "-----", "Auro…"])

    def test_the_board_shows_free_and_closed_berths(self):
        world = a_harbour().with_berth("North 1").with_berth("South 2", closed=True)
        outcome = ask(world.built(), "board-show", "2031-05-04T12:00")
        self.assertIn("free", outcome.value[2])
        self.assertIn("closed", outcome.value[3])

    def test_the_day_sheet_is_in_order(self):
        call = Call(1, "AURORA", "North 1", NOON, NOON + timedelta(hours=4), "Ines")
        harbour = a_harbour().with_tides().built()
        tides = harbour.tides.fetch_many(NOON - timedelta(days=1), NOON + timedelta(days=1))
        entries = day_entries(NOON.date(), [call], tides)
        self.assertEqual(entries, sorted(entries))
        self.assertIn("AURORA leaves North 1 with Ines", entries[-2].words)

    def test_an_empty_day_says_so(self):
        self.assertEqual(day_lines(NOON.date(), [], []), ["2031-05-04: nothing moves"])


if __name__ == "__main__":
    unittest.main()
