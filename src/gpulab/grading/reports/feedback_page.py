"""nbgrader's feedback page with a summary: the preprocessor that computes it, and the exporter that shows it.

`nbgrader_config.py` names both, so that `nbgrader generate_feedback` writes the same pages as `gpulab grade`.
"""

from __future__ import annotations

import json
import mimetypes
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import nbgrader
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from nbgrader.api import Comment, Grade, Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import List, Unicode
from traitlets.config import Config

from gpulab.errors import UsageError
from gpulab.grading.judge.records import Incident
from gpulab.grading.pipeline.gradebook import entries_by_cell, is_waiting
from gpulab.grading.release.rubric import Criterion, max_at_level, read_rubric
from gpulab.grading.reports.feedback_summary import GradedCell, summary_html, summary_row
from gpulab.grading.sandbox.safe_markdown import clean_markdown

__all__ = ["FeedbackExporter", "SummarizeFeedback"]

TEMPLATES = Path(__file__).parent / "templates"
FORMGRADER = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader"
STYLE_SHEETS = FORMGRADER / "static" / "node_modules" / "bootstrap" / "dist" / "css"
CACHED_CELLS = 500  # cells of all students together
IMAGE_NAME = re.compile(r"""(?P<before><img\b[^>]*?\ssrc=)(?P<quote>["'])(?P<name>.*?)(?P=quote)""")
IMAGE_WITHOUT_TEXT = re.compile(r"<img\s+(?![^>]*\balt=)")


class FeedbackExporter(HTMLExporter):
    """Exporter of feedback pages with the summary in place of nbgrader's list of scores."""

    def __init__(self, config: Config | None = None, **options: Any) -> None:
        # nbgrader configures HTMLExporter; the section of this class has priority.
        own = Config(config or {})
        own.FeedbackExporter.template_name = "gpulab_feedback"
        own.FeedbackExporter.extra_template_basedirs = [str(TEMPLATES), str(FORMGRADER / "templates")]
        # The folders that `extends` and `include_css` search; nbgrader's setting has the style sheets only.
        own.FeedbackExporter.extra_template_paths = [str(FORMGRADER / "templates"), str(STYLE_SHEETS)]
        super().__init__(config=own, **options)
        highlight = Highlight2HTML(pygments_lexer="python", parent=self)
        self._highlighted = lru_cache(CACHED_CELLS)(highlight)
        links = {name: getattr(self, name) for name in ("anchor_link_text", "exclude_anchor_links")}
        self._plain = HTMLExporter(embed_images=False, **links)
        self._rendered = lru_cache(CACHED_CELLS)(partial(self._plain.markdown2html, {}))

    @pass_context
    def markdown2html(self, context: Mapping[str, Any], source: str) -> str:
        """Return the HTML of a Markdown cell. Most cells are the instructor's, so they are rendered once.

        nbconvert embeds images in each piece of a cell's markup alone, and closes the elements of the piece:
        a hint of several paragraphs would be outside its `<details>`.
        """
        has_attachments = context.get("cell", {}).get("attachments")
        html = self._plain.markdown2html(context, source) if has_attachments else self._rendered(source)
        folder = context.get("resources", {}).get("metadata", {}).get("path", "")
        return _with_images(html, Path(folder).resolve())  # nbgrader's exchange hands out the page alone

    def _highlight(self, source: str, language: str | None = None, metadata: object = None) -> str:
        """Return the HTML of a code cell; `metadata` has no effect on Python code."""
        del metadata
        return str(self._highlighted(source, language))

    def from_notebook_node(  # type: ignore[override]  # as in nbconvert
        self, nb: Any, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Return the page.

        nbconvert parses it once more to add alternative texts to images, which takes half of the time.
        """
        resources = self._init_resources(resources)
        widgets = WidgetsDataTypeFilter(notebook_metadata=self._nb_metadata, parent=self, resources=resources)
        self.register_filter("highlight_code", self._highlight)
        self.register_filter("filter_data_type", widgets)
        page, resources = TemplateExporter.from_notebook_node(self, nb, resources, **options)
        return IMAGE_WITHOUT_TEXT.sub('<img alt="an image without a description" ', page), resources


def _with_images(html: str, folder: Path) -> str:
    """Return the HTML of a cell with the images of a folder in place of their names."""

    def embedded(image: re.Match[str]) -> str:
        try:
            file = (folder / image["name"]).resolve()
            data = file.read_bytes() if file.is_relative_to(folder) else b""
        except (OSError, ValueError):  # an address, or a name that no file can have
            data = b""
        kind = mimetypes.guess_type(image["name"])[0] or "application/octet-stream"
        return f'{image["before"]}"data:{kind};base64,{b64encode(data).decode()}"' if data else image[0]

    return IMAGE_NAME.sub(embedded, html)


class SummarizeFeedback(NbGraderPreprocessor):
    """Preprocessor that takes the place of GetGrades: it puts the points and the summary on the page.

    Cells get their points and comments, and a mark if an answer is not read yet.
    """

    rubric = Unicode("rubric.toml", help="File with what earns the points of each test cell.").tag(
        config=True
    )
    # nbgrader's base class hides this setting of nbconvert, which the exporter sets.
    display_data_priority = List(Unicode()).tag(config=True)
    results = Unicode(
        "", help="Folder with the stored results of the submissions; empty: in the work folder of the course."
    ).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook with marks, and resources with `nbgrader.summary`."""
        about = resources["nbgrader"]
        inspection = self._inspection(resources)
        kernels = {kernel["name"]: kernel for kernel in inspection.get("kernels", ())}
        criteria = self._criteria(about["assignment"])
        rows = []
        with Gradebook(about["db_url"]) as gradebook:
            notebook = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            grades = entries_by_cell(gradebook, Grade, notebook)
            comments = entries_by_cell(gradebook, Comment, notebook)
            about["late_penalty"] = notebook.late_submission_penalty or 0
            # An answer that changed after it was read keeps its old score until it is read again.
            unread = sum(grade.score for grade in grades.values() if is_waiting(grade))
            about["score"] = notebook.score - unread - about["late_penalty"]
            max_scores = {
                name: max_at_level(grade.max_score, criteria.get(name), inspection.get("level"))
                for name, grade in grades.items()
            }
            for cell in nb.cells:
                marks = cell.metadata.get("nbgrader", {})
                name = marks.get("grade_id")
                comment = (comments[name].comment or "") if name in comments else ""
                if comment:
                    marks["comment"] = clean_markdown(comment)  # the page renders it as Markdown
                if name in grades:
                    grade = grades[name]
                    marks["score"], marks["points"] = grade.score, max_scores[name]
                    marks["not_read"] = is_waiting(grade)
                    graded = _graded_cell(cell, grade, comment, criteria.get(name))
                    marks["automatic"] = graded.automatic
                    rows.append(summary_row(graded, kernels))

        about["summary"] = summary_html(
            rows,
            max(0.0, about["score"]),
            sum(max_scores.values()),
            penalty=about["late_penalty"],
            incidents=[
                str(Incident(**incident))
                for incident in inspection.get("incidents", ())
                if incident["kind"] != "failed"  # which the row of the exercise says
            ],
        )
        return nb, resources

    def _criteria(self, assignment: str) -> Mapping[str, Criterion]:
        try:
            return read_rubric(Path(self.rubric), assignment)
        except UsageError as error:
            self.log.warning("The feedback is written without the rubric: %s", error)
            return {}

    def _inspection(self, resources: Any) -> dict[str, Any]:
        """Return the stored result of the submission as plain data; empty if there is none to read."""
        assignment, student = resources["nbgrader"]["assignment"], resources["nbgrader"]["student"]
        # The notebook is work/autograded/STUDENT/ASSIGNMENT/NAME.ipynb.
        work = Path(resources["metadata"]["path"]).resolve().parents[2]
        folder = Path(self.results) if self.results else work / "results"
        try:
            stored = json.loads((folder / assignment / f"{student}.json").read_text(encoding="utf-8"))
            return dict(stored["verdict"])
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def _graded_cell(cell: Any, grade: Grade, comment: str, criterion: Criterion | None) -> GradedCell:
    marks = cell.metadata["nbgrader"]
    is_test = not marks.get("solution") and not marks.get("task")
    replaced = is_test and grade.auto_score is not None and grade.score != grade.auto_score
    return GradedCell(
        marks["grade_id"],
        float(grade.score or 0.0),
        float(marks["points"]),
        not_read=marks["not_read"],
        is_test=is_test,
        automatic=grade.auto_score if replaced else None,
        source=cell.source,
        outputs=cell.get("outputs", ()),
        comment=comment,
        earns=criterion.earns if criterion else "",
    )
