"""nbgrader settings of this course: labs/ holds the sources, work/ beside this file all generated files.

This file lies in the folder of the course, or in its folder grading/, with the rubric and the sample class.
`gpulab release`, `gpulab grade` and `nbgrader` itself, if called in this folder, read this file.
"""

from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    IncludeHeaderFooter,
    InstantiateTests,
    LimitOutput,
    LockCells,
    SaveCells,
)

from gpulab.grading.pipeline.release_feedback import ReleaseFeedback
from gpulab.grading.pipeline.verdict_preprocessors import (
    InsertVerdicts,
    RefuseAutograde,
    SaveJudgedScores,
)
from gpulab.grading.release.preprocessors import ClearKernelSolutions, ContinueAfterErrors, RestoreCells
from gpulab.grading.reports.feedback_page import FeedbackExporter, SummarizeFeedback

c = get_config()

# Derived from the location of this file, because nbgrader needs an absolute root in whatever folder it runs.
folder = Path(__file__).resolve().parent
root = folder.parent if folder.name == "grading" else folder
work = folder.relative_to(root) / "work"
(root / work).mkdir(exist_ok=True)  # for the gradebook, which nbgrader opens before it makes folders

c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "labs"
c.CourseDirectory.release_directory = str(work / "release")
c.CourseDirectory.submitted_directory = str(work / "submitted")
c.CourseDirectory.autograded_directory = str(work / "autograded")
c.CourseDirectory.feedback_directory = str(work / "feedback")
c.CourseDirectory.db_url = f"sqlite:///{root / work / 'gradebook.db'}"

# `nbgrader zip_collect NAME` reads work/downloaded/NAME/archive/: files STUDENT_NOTEBOOK.ipynb, or archives.
# Names that begin with a dot are skipped: `..` would lead out of the folder of submissions.
c.ZipCollectApp.downloaded_directory = str(work / "downloaded")
c.FileNameCollectorPlugin.named_regexp = r".*/(?P<student_id>[^./][^/]*)_(?P<file_id>[^/_]+)\.ipynb"

# The stock order of nbgrader 0.9, with ClearKernelSolutions in place of ClearSolutions, and
# with ContinueAfterErrors, for "Run All".
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    ClearKernelSolutions,
    ContinueAfterErrors,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]

# `gpulab grade` hands nbgrader a notebook with the instructor's metadata, without outputs and without copied
# cells, so the stock preprocessors that repair these are left out. RestoreCells is OverwriteCells.
c.Autograde.sanitize_preprocessors = [RestoreCells]
c.OverwriteCells.add_missing_cells = True  # without it a deleted test cell has no score at all

# InsertVerdicts and SaveJudgedScores take the places of Execute and SaveAutoGrades: points come from the
# judge, and no cell of a submission runs in nbgrader.
c.Autograde.autograde_preprocessors = [InsertVerdicts, LimitOutput, SaveJudgedScores, AssignLatePenalties]
# nbgrader's own `autograde` and formgrader's button have no judge, and are refused.
c.Autograde.exporter_class = RefuseAutograde

# SummarizeFeedback takes the place of GetGrades, and the exporter shows its summary.
c.GenerateFeedback.exporter_class = FeedbackExporter
c.GenerateFeedback.preprocessors = [SummarizeFeedback, CSSHTMLHeaderPreprocessor]
# Students who did not submit through nbgrader's exchange are left out when it hands out the pages.
c.ExchangeFactory.release_feedback = ReleaseFeedback
c.SummarizeFeedback.rubric = str(folder / "rubric.toml")
