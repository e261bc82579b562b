"""smallclock: a clock for tests.  Kept here so that the harbour needs nothing from outside."""


class SmallClock:
    def __init__(self, start):
        self.now = start

    def __call__(self):
        return self.now

    def advance(self, span):
        self.now += span
        return self.now
