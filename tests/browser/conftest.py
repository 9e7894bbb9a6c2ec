"""Fixtures: a JupyterLab server on a free port, and Chromium."""

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


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on PATH (Debian: apt install chromium)"))


class Lab:
    """A running JupyterLab server; `url(path)` is the address of a file of `folder`."""

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

    def url(self, path: str) -> str:
        return f"{self._base}lab/tree/{path}?token={self.token}&reset"

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
                    base: str = json.loads(info.read_text())["url"]
                    with urllib.request.urlopen(f"{base}api/status?token={self.token}", timeout=5):
                        return base
                except (OSError, ValueError):
                    pass
            time.sleep(0.2)
        pytest.fail(f"JupyterLab did not start:\n{Path(self._log.name).read_text()[-3000:]}")


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


@pytest.fixture(scope="module")
def browser_window():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
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
