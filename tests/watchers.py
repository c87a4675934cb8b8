"""Watchers of a run, for tests: one that remembers, one that does not listen."""

from grailbench.harness.tasks import Watcher


class Notes(Watcher):
    """A watcher that remembers its calls."""

    def __init__(self):
        self.notes, self.troubles, self.printed, self.total, self.steps = [], [], [], 0, 0

    def note(self, text):
        self.notes.append(text)

    def began(self, folder, plan, steps):
        self.total = steps

    def step(self, cell, doing, steps=1):
        self.steps += steps

    def trouble(self, cell, status, reason):
        self.troubles.append((cell.impl, status, reason))

    def rows(self, rows):
        self.printed += rows


class Silent:
    """A watcher that hears nothing."""

    def __getattr__(self, name):
        return lambda *args, **named: None
