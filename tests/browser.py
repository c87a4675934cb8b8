"""A headless Chromium for tests, spoken to over its debugging pipe: nothing to install beside the browser."""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from time import monotonic

from commands import PATIENCE

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def installed() -> str | None:
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser. `errors` are what its console and its scripts complained of, `requests` every address
    that it asked for."""

    def __init__(self, program: str, profile: Path):
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        # Chromium reads commands from descriptor 3 and writes to 4; the shell puts our pipes there.
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        command = ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._number, self._session = b"", 0, None
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End this browser, and no other."""
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **params) -> dict:
        """One command of the DevTools protocol and its result. Raises RuntimeError with what it complains of."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = monotonic() + PATIENCE
        while True:
            answer = self._message(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _message(self, end: float) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event: str | None, about: dict) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"])[:500])
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(about["args"])[:500])
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait until it is there; `errors` and `requests` begin anew. `fragment`: '#' and the rest, of
        an address that is not shown yet."""
        self.errors.clear()
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        end = monotonic() + PATIENCE
        while not self._loaded:
            self._message(end)

    def window(self, width: int, height: int = 900, scheme: str = "light", media: str = "") -> None:
        """Size, colour scheme, and 'print' or '' for the screen."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def run(self, script: str):
        """The value of a JavaScript expression. Raises RuntimeError when it throws."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:500])
        return found["result"].get("value")

    def picture(self, path: Path, whole: bool = False) -> None:
        """What the window shows, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
