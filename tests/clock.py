"""A clock that only tests move, for what would else depend on how busy the machine is."""


class Clock:
    """Stands in for `perf_counter_ns` (call it) and `monotonic` (`seconds`); `tick_ns` pass from look to look."""

    def __init__(self, tick_ns: int = 0):
        self.ns, self.tick_ns = 0, tick_ns

    def __call__(self) -> int:
        self.ns += self.tick_ns
        return self.ns

    def seconds(self) -> float:
        return self.ns / 1e9

    def sleep(self, seconds: float) -> None:
        """Pass this time at once."""
        self.ns += round(seconds * 1e9)
