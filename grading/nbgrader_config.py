"""nbgrader's settings for this course: labs/ is the source, grading/work/ holds everything made from it.

`gpulab release`, `gpulab grade` and a plain `nbgrader` called in this folder all read this file.
"""

from pathlib import Path

from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    IgnorePattern,
    IncludeHeaderFooter,
    InstantiateTests,
    LimitOutput,
    LockCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

from gpulab.grading.release.preprocessors import (
    ClearKernelSolutions,
    DropDuplicates,
    DropStandardError,
    ExecuteWithRestarts,
    RestoreCells,
)

c = get_config()

# The place of this file decides, not the folder nbgrader was called in: nbgrader wants root absolute.
root = Path(__file__).resolve().parent.parent
work = Path(__file__).resolve().parent.relative_to(root) / "work"

c.CourseDirectory.root = str(root)
c.CourseDirectory.source_directory = "labs"
c.CourseDirectory.release_directory = str(work / "release")
c.CourseDirectory.submitted_directory = str(work / "submitted")
c.CourseDirectory.autograded_directory = str(work / "autograded")
c.CourseDirectory.feedback_directory = str(work / "feedback")
c.CourseDirectory.db_url = f"sqlite:///{root / work / 'gradebook.db'}"

# `nbgrader zip_collect NAME` reads work/downloaded/NAME/archive/: STUDENT_NOTEBOOK.ipynb, or archives of it.
c.ZipCollectApp.downloaded_directory = str(work / "downloaded")
c.FileNameCollectorPlugin.named_regexp = r".*/(?P<student_id>[^/]+)_(?P<file_id>[^/_]+)\.ipynb"

# Stock order (nbgrader 0.9), with C stubs where ClearSolutions stood.
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    ClearKernelSolutions,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]

# Stock order, with copied cells made harmless and deleted tests put back.
c.Autograde.sanitize_preprocessors = [
    ClearOutput,
    DropDuplicates,
    OverwriteKernelspec,
    RestoreCells,
    CheckCellMetadata,
]
c.OverwriteCells.add_missing_cells = True  # a deleted test is 0 points, not "no points"

# Stock order; a cell that ends its process costs only itself, and a warning costs nothing.
c.Autograde.autograde_preprocessors = [
    ExecuteWithRestarts,
    DropStandardError,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]

# The simulator ends a kernel that never ends by itself (its instruction budget); this is for Python
# loops and for a GPU that does not answer. A cell that checks a kernel on a slow laptop takes seconds.
c.Execute.timeout = 120
c.Execute.iopub_timeout = 20  # after an interrupt: a call into C comes back at its own pace
c.Execute.startup_timeout = 120
c.Execute.shutdown_kernel = "immediate"
c.Execute.store_widget_state = False  # widgets' state is megabytes, and feedback pages do not show it
