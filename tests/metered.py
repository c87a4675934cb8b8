"""Devices made up for tests of energy, with a clock that only they move."""

from grailbench.cuda.energy import Counter, Meter, of

READ = 10  #: microseconds that a look at a counter takes


class Device:
    """Takes `idle` watts, and `busy` at work, and says how much in steps of so many ms, from `shown` joules on; begins
    anew after `wraps` joules."""

    def __init__(self, idle=100.0, busy=600.0, step=100, wraps=None, shown=0.0, name="GPU 0"):
        self.idle, self.busy, self.step, self.wraps, self.name = idle, busy, step * 1000, wraps, name
        self.joules = self.seen = shown

    @property
    def shown(self):
        return self.seen % self.wraps if self.wraps else self.seen


class World:
    """Some devices and their clock, in whole microseconds. One call of `work` takes so many seconds."""

    def __init__(self, *devices, seconds=0.015):
        self.devices, self.seconds, self.us, self.calls = devices or (Device(),), seconds, 0, 0

    @property
    def now(self):
        return self.us / 1e6

    def wait(self, seconds, busy=False):
        end = self.us + max(round(seconds * 1e6), 1)
        for device in self.devices:
            watts, at = device.busy if busy else device.idle, self.us
            while at < end:
                part = min(end, at // device.step * device.step + device.step) - at
                at += part
                device.joules += watts * part / 1e6
                if at % device.step == 0:
                    device.seen = device.joules
        self.us = end

    def work(self):
        self.calls += 1
        self.wait(self.seconds, busy=True)

    def counter(self, device):
        def read():
            self.wait(READ / 1e6)
            return device.shown

        return Counter(device.name, read, device.wraps)

    def meter(self, name="gpu", *devices):
        return Meter(name, tuple(map(self.counter, devices or self.devices)))

    def measured(self, *meters, seconds=None, work=None):
        """`energy.of` the work, by these meters or by that of all devices."""
        clock = lambda: self.now  # noqa: E731
        return of(work or self.work, meters or [self.meter()], seconds, clock=clock, wait=self.wait)
