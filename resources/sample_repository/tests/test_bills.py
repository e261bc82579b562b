import unittest

from tidewater.records.fee import Fee

from tests.world import a_harbour, ask


class BillTest(unittest.TestCase):
    def planned(self, stays: str = "30h", **vessel):
        world = a_harbour().with_berth("North 1", has_crane=True).with_vessel("AURORA", 60.0, **vessel)
        harbour = world.with_tides().built()
        ask(harbour, "call-plan", "AURORA", "--arrives", "2031-05-04T12:00", "--stays", stays)
        return harbour

    def test_a_fee_survives_its_row(self):
        fee = Fee(1, "tug", 137_050, "two tugs")
        self.assertEqual(Fee.from_row(fee.to_row()), fee)
        self.assertEqual(fee.amount, "1,370.50")

    def test_a_begun_day_is_paid_in_full(self):
        bill = ask(self.planned("30h"), "call-bill", "1").value
        self.assertEqual(bill[0].cents, 60 * 2 * 185)

    def test_a_crane_costs_by_the_day(self):
        reasons = [fee.reason for fee in ask(self.planned(), "call-bill", "1").value]
        self.assertIn("crane", reasons)

    def test_a_yacht_uses_no_crane(self):
        reasons = [fee.reason for fee in ask(self.planned(kind="yacht"), "call-bill", "1").value]
        self.assertNotIn("crane", reasons)

    def test_a_cancelled_call_owes_nothing(self):
        harbour = self.planned()
        ask(harbour, "call-state", "1", "cancelled")
        self.assertIn("owes nothing", ask(harbour, "call-bill", "1").reason)


if __name__ == "__main__":
    unittest.main()
