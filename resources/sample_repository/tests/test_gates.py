import unittest

from tests.world import NOON, a_harbour, ask


class GateTest(unittest.TestCase):
    def setUp(self):
        self.harbour = a_harbour().with_berth("North 1").with_vessel("AURORA").with_tides().built()

    def give(self, *words: str):
        return ask(self.harbour, "pass-give", "Mara", "--from", "2031-05-04T08:00", *words)

    def test_a_visitor_sees_one_quay_for_a_day(self):
        self.give("--quay", "North")
        self.assertTrue(ask(self.harbour, "gate-ask", "Mara", "North", "2031-05-04T12:00").is_settled)
        self.assertIn("opens South", ask(self.harbour, "gate-ask", "Mara", "South", "2031-05-04T12:00").reason)
        self.assertIn("ended at", ask(self.harbour, "gate-ask", "Mara", "North", "2031-05-06T12:00").reason)

    def test_only_a_master_needs_no_quay(self):
        self.assertIn("every quay", self.give().reason)
        self.assertTrue(self.give("--grade", "master").is_settled)

    def test_a_withdrawn_pass_opens_nothing(self):
        self.give("--grade", "master")
        self.assertTrue(ask(self.harbour, "pass-withdraw", "1").is_settled)
        self.assertIn("withdrawn", ask(self.harbour, "gate-ask", "Mara", "North", "2031-05-04T12:00").reason)
        self.assertIn("already", ask(self.harbour, "pass-withdraw", "1").reason)

    def test_a_crew_pass_follows_its_call(self):
        ask(self.harbour, "call-plan", "AURORA", "--arrives", "2031-05-04T12:00", "--stays", "10h")
        given = ask(self.harbour, "pass-give", "Jon", "--call", "1").value
        self.assertEqual((given.begins, given.quays), (NOON, ("North 1",)))

    def test_nobody_passes_without_a_pass(self):
        self.assertIn("has no pass", ask(self.harbour, "gate-ask", "Nemo", "North", "2031-05-04T12:00").reason)


if __name__ == "__main__":
    unittest.main()
