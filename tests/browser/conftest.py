"""Fixtures: a JupyterLab server on a free port, Chromium, and a page in which notebooks are opened."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ROOT = Path(__file__).parents[2]
START_S = 90  # a cold start on two busy cores
CELL_S = 120_000  # milliseconds for a cell on a busy machine without a GPU
POLL_MS = 200  # milliseconds between two tests of a condition; by default, every frame tests it

# Chromium has no sandbox when it runs as root. Its background traffic would disturb the tests.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

OPEN = "async path => { await window.jupyterapp.commands.execute('docmanager:open', {path}); }"
CONNECTED = """() => {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    const kernel = session?.session?.kernel;
    return session?.isReady && kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
CLOSE = """async () => {
    const {commands, shell} = window.jupyterapp;
    const notebook = shell.currentWidget;
    await notebook.sessionContext.shutdown();
    notebook.dispose();
    await commands.execute("apputils:change-theme", {theme: "JupyterLab Light"});
}"""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on PATH (Debian: apt install chromium)"))


class Lab:
    """A running JupyterLab server, which serves the files of `folder`."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self._runtime = home / "runtime"
        env = os.environ | {
            # No settings, extensions or open tabs of the user.
            "JUPYTER_CONFIG_DIR": str(home / "config"),
            "JUPYTER_DATA_DIR": str(home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._runtime),
            "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            "IPYTHONDIR": str(home / "ipython"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        # Without this setting, a dialog about news covers the page.
        extension = home / "settings" / "@jupyterlab" / "apputils-extension"
        notifications = extension / "notification.jupyterlab-settings"
        self._themes = extension / "themes.jupyterlab-settings"
        extension.mkdir(parents=True)
        notifications.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        self._log = (home / "lab.log").open("w")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                f"--ServerApp.root_dir={folder}",
                "--ServerApp.ip=127.0.0.1",
                "--ServerApp.port=0",
                f"--IdentityProvider.token={self.token}",
                "--LabApp.expose_app_in_browser=True",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ],
            env=env,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        try:
            self._base = self._wait()
        except BaseException:
            self.stop()
            raise

    def url(self, path: str = "") -> str:
        """Return the address of JupyterLab, which opens a file if a path is given."""
        place = f"lab/tree/{path}" if path else "lab"
        return f"{self._base}{place}?token={self.token}&reset"

    def formgrader_url(self, page: str) -> str:
        """Return the address of a page of nbgrader's formgrader."""
        return f"{self._base}formgrader/{page}"

    def tidy(self) -> None:
        """End all kernels and reset the theme."""
        for session in json.loads(self._request("api/sessions")):
            self._request(f"api/sessions/{session['id']}", "DELETE")
        self._themes.unlink(missing_ok=True)

    def _request(self, path: str, method: str = "GET") -> bytes:
        request = urllib.request.Request(f"{self._base}{path}?token={self.token}", method=method)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _wait(self) -> str:
        """Return the address of the server as soon as it responds."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            for info in self._runtime.glob("jpserver-*.json"):
                try:
                    base: str = json.loads(info.read_text(encoding="utf-8"))["url"]
                    with urllib.request.urlopen(f"{base}api/status?token={self.token}", timeout=5):
                        return base
                except (OSError, ValueError):
                    pass
            time.sleep(0.2)
        pytest.fail(f"JupyterLab did not start:\n{Path(self._log.name).read_text(encoding='utf-8')[-3000:]}")


class LabPage:
    """A page with JupyterLab, in which one notebook after the other is opened.

    Attributes
    ----------
    page
        The page of Playwright.
    requests : list of str
        Addresses that were requested since JupyterLab was loaded.
    errors : list of str
        Errors since the last notebook was opened.
    """

    def __init__(self, browser, lab: Lab) -> None:
        self.page = browser.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(lab.url())
        self.page.wait_for_function("() => window.jupyterapp", timeout=CELL_S, polling=POLL_MS)
        self.page.evaluate("async () => { await window.jupyterapp.restored; }")

    def open(self, name: str, height: int, color_scheme: str = "light"):
        """Open a notebook in a window that is `height` pixels high, and return the page.

        color_scheme: the setting of the operating system, light or dark.
        """
        self.errors.clear()
        self.page.set_viewport_size({"width": 1280, "height": height})
        self.page.emulate_media(color_scheme=color_scheme)
        self.page.evaluate(OPEN, name)
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=CELL_S)
        return self.page

    def open_with_kernel(self, name: str, height: int):
        """Open a notebook, and return the page when the kernel is ready."""
        self.open(name, height)
        # A kernel that is shown as idle may not be connected yet; a cell that runs then is lost.
        self.page.wait_for_function(CONNECTED, timeout=CELL_S, polling=POLL_MS)
        return self.page

    def close_notebook(self) -> None:
        """Close the notebook without saving it, end its kernel, and reset the theme."""
        self.page.evaluate(CLOSE)
        self.page.wait_for_selector('body[data-jp-theme-light="true"]', state="attached")


@pytest.fixture(scope="session")
def running_lab(tmp_path_factory) -> Iterator[Lab]:
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("jupyter")
    running = Lab(folder, home)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def lab(running_lab) -> Iterator[Lab]:
    """Return the server of all modules; it takes longer to start than most modules run."""
    yield running_lab
    running_lab.tidy()


@pytest.fixture(scope="package")
def browser_window():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def loaded_page(running_lab, browser_window) -> Iterator[LabPage]:
    """Return a page with JupyterLab, whose start takes longer than most tests."""
    loaded = LabPage(browser_window, running_lab)
    yield loaded
    loaded.page.close()


@pytest.fixture
def lab_page(loaded_page) -> Iterator[LabPage]:
    """Return a page with JupyterLab, and close the notebook that the test opens in it."""
    yield loaded_page
    loaded_page.close_notebook()


@pytest.fixture(scope="module")
def write_notebook(lab):
    """Return a function that writes a notebook of code cells into the server's folder."""

    def write(name: str, *cells: str) -> str:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(text) for text in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, lab.folder / name)
        return name

    return write
