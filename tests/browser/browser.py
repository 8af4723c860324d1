# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by the DevTools protocol over a pipe. Needs only Python."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
FLAGS = ["--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
         "--force-device-scale-factor=1", "--password-store=basic", "--no-sandbox"]  # may run as root, because it opens only our files
PATIENCE = 30


def find():
    """@return the path of a browser, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(prefix="profkit-browser-", ignore_cleanup_errors=True)
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4.
        held = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (read_commands, write_answers)]

        def place():
            os.dup2(held[0], 3)
            os.dup2(held[1], 4)

        self.process = subprocess.Popen([path, *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"], preexec_fn=place, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for each in (read_commands, write_answers, *held):
            os.close(each)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.answers)
        self.profile.cleanup()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.answers], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise ConnectionError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method, session):
        deadline = time.monotonic() + PATIENCE
        while True:
            for each in self.events:
                if each.get("method") == method and each.get("sessionId") == session:
                    return each
            self.events.append(self.receive(deadline))


class Page:
    """A tab that shows one page with one set of options."""

    def __init__(self, browser, url, width=1280, height=900, scheme="light", scripts=True, media=""):
        self.browser = browser
        self.url = url
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        browser.events.clear()
        for each in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{each}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired", self.session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression[:200]}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, code=None, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key, windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0),
                      text=text if kind == "keyDown" else "")

    def complaints(self):
        """@return the browser's messages, and its network requests."""
        result = []
        for each in self.browser.events:
            if each.get("sessionId") != self.session:
                continue
            if each["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                result.append(json.dumps(each["params"])[:400])
            if each["method"] == "Network.requestWillBeSent" and each["params"]["request"]["url"].split("?")[0].split("#")[0] != self.url.split("?")[0].split("#")[0]:
                result.append("requests " + each["params"]["request"]["url"])
        return result
