"""A screenshot for the README: the stencil lab in JupyterLab, after a wrong kernel ran.

    python docs/images/take.py        (needs the extra dev and a chromium on PATH)

It writes lab.png. The wrong kernel is `halo_forgotten` of the sample class.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LAB = ROOT / "labs" / "01_stencil"
WRONG = ROOT / "grading" / "sample_class" / "01_stencil" / "halo_forgotten" / "opt_1.cu"
SIZE = {"width": 1400, "height": 1330}
TIMEOUT_MS = 90_000  # for a cell that compiles, on a slow machine

# JupyterLab is available as window.jupyterapp because of the option expose_app_in_browser below.
RUN = """async index => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = index;
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""
READY = """() => {
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    const kernel = session?.session?.kernel;
    return session?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
TO_TOP = """index => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.widgets[index].node.scrollIntoView({ block: 'start' });
}"""


def write_lab(folder: Path) -> tuple[list[int], int]:
    """Write the lab with the wrong kernel as opt_1; return the cells to run, and the cell to show."""
    notebook = nbformat.read(LAB / "stencil.ipynb", as_version=4)
    shutil.copytree(LAB / "figures", folder / "figures")
    positions: dict[str, int] = {
        cell.metadata.get("nbgrader", {}).get("grade_id", ""): index
        for index, cell in enumerate(notebook.cells)
    }
    kernel = WRONG.read_text(encoding="utf-8").removeprefix("// ")
    notebook.cells[positions["opt_1"]].source = kernel.rstrip("\n")
    nbformat.write(notebook, folder / "stencil.ipynb")
    return [positions["setup"], positions["opt_1"]], positions["opt_1"]


def start_lab(folder: Path, home: Path, token: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start JupyterLab on localhost with default settings; return the process and its address."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}', encoding="utf-8")
    folders = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
    }
    options = [
        f"--ServerApp.root_dir={folder}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", *options]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=os.environ | {k: str(v) for k, v in folders.items()}, stdout=log, stderr=log
        )
    for _ in range(300):
        for info in (home / "runtime").glob("jpserver-*.json"):
            try:
                address: str = json.loads(info.read_text(encoding="utf-8"))["url"]
            except ValueError:  # the file is not complete yet
                continue
            return process, address
        time.sleep(0.2)
    process.terminate()
    raise SystemExit(f"JupyterLab did not start:\n{(home / 'log').read_text(encoding='utf-8')}")


def run_cells(page: Page, cells: list[int]) -> None:
    """Run cells one after the other, and wait for each."""
    for index in cells:
        page.wait_for_function(READY, timeout=TIMEOUT_MS)
        page.evaluate(RUN, index)
        page.wait_for_function(READY, timeout=TIMEOUT_MS)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no chromium on PATH (Debian: apt install chromium)")
    token = secrets.token_hex(16)
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        cells, shown = write_lab(Path(folder))
        server, address = start_lab(Path(folder), Path(home), token)
        try:
            with sync_playwright() as playwright:
                options: dict[str, Any] = {"executable_path": chromium, "args": flags}
                browser = playwright.chromium.launch(**options)
                page = browser.new_page(viewport=SIZE)
                page.goto(f"{address}lab/tree/stencil.ipynb?token={token}&reset")
                page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell", timeout=TIMEOUT_MS)
                run_cells(page, cells)
                page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
                page.evaluate(TO_TOP, shown)
                page.wait_for_timeout(1500)  # figures and highlighting appear late
                page.screenshot(path=HERE / "lab.png")
                browser.close()
        finally:
            server.terminate()
            server.wait()
    print(HERE / "lab.png")


if __name__ == "__main__":
    main()
