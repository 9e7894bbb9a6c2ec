"""nbgrader's `release_feedback` for a class of which a part did not submit through the exchange."""

from __future__ import annotations

from glob import escape, glob
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from gpulab.grading.pipeline.submitted_files import SECRET, TIMESTAMP

__all__ = ["ReleaseFeedback"]


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Hands out the feedback of the submissions that came through the exchange.

    nbgrader's own class stops at the first submission without the files of the exchange.
    """

    src_path: str

    def copy_files(self) -> None:
        others = []
        for folder in sorted(glob(self.src_path)):  # noqa: PTH207  (an absolute pattern of nbgrader's)
            if _came_by_exchange(Path(folder)):
                self.src_path = escape(folder)
                super().copy_files()
            else:
                others.append(Path(folder).parent.name)
        if others:
            self.log.warning(
                "No feedback was released for %s: they did not submit through the exchange. Hand out their "
                "pages in %s.",
                ", ".join(others),
                self.coursedir.feedback_directory,
            )


def _came_by_exchange(folder: Path) -> bool:
    """Return True if nbgrader can read the files of the exchange in a folder of feedback."""
    try:
        return bool((folder / SECRET).read_text(encoding="utf-8")) and (folder / TIMESTAMP).is_file()
    except (OSError, ValueError):
        return False
