# One command each. Every target first sets up what it needs in .venv; Python >= 3.11, make and a C
# library are all that has to be there.

VENV ?= .venv
BIN := $(VENV)/bin
# Three workers on two cores, because some tests wait for a browser or a process. Each runs neighbouring tests,
# which share fixtures, and takes from the others when it is idle.
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal --durations=10
# Set PYTHON=... to choose; otherwise the first of these that is 3.11 or newer.
PYTHON ?=
PYTHONS := python3 python3.15 python3.14 python3.13 python3.12 python3.11 python

# The folder of compiled kernels that runs of the tests leave for each other.
GPULAB_TEST_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gpulab-tests

# An environment with the lowest versions that pyproject.toml allows, and the tests that run in it: doctor,
# headers, cells in a shell and in a Jupyter kernel, sliders, figures, loops of Numba, a lab, a class, feedback.
LOWEST := $(VENV)/lowest
LOWEST_TESTS := test_doctor.py compiler/preprocess/test_headers.py labs/test_devicequery_lab.py \
	notebook/test_on_simulator.py notebook/test_front_end.py notebook/sliders \
	notebook/tables/test_roofline_view.py notebook/tables/test_host_loops.py \
	grading/pipeline/test_grading_run.py grading/reports/test_feedback_page.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo lab test test-fast test-weekly test-grading test-lowest test-gpu fuzz check format bench clean

help: ## this list
	@echo "gpulab: CUDA C labs in JupyterLab, with or without a GPU"
	@echo
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.lab ## release the lab, grade the sample class, print gradebook and speed-ups (ARGS="--unsandboxed")
	@$(BIN)/gpulab demo $(ARGS)

lab: $(VENV)/.lab ## open the labs in JupyterLab, on localhost; LAB=03_puzzles opens that one
	@$(BIN)/gpulab start $(LAB)
	@JUPYTER_PREFER_ENV_PATH=1 $(BIN)/jupyter lab --ServerApp.ip=127.0.0.1 \
		$(if $(filter 0,$(shell id -u)),--allow-root) --ServerApp.root_dir=my-labs $(ARGS) \
		"$$(ls my-labs/$(or $(LAB),*)/*.ipynb | head -n 1)"

test: $(VENV)/.dev ## run every test (the browser tests need a chromium)
	@command -v chromium >/dev/null 2>&1 || { \
		echo "make test: no chromium on PATH, so the browser tests are skipped"; \
		echo "           (Debian: apt install chromium libatomic1)"; }
	$(PYTEST) -m "not grading and not weekly" $(ARGS)

test-grading: $(VENV)/.dev ## grade cheats, classes and planted mistakes, kill runs, use PostgreSQL
	@ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || \
		echo "make test-grading: no PostgreSQL, so its tests are skipped (Debian: apt install postgresql)"
	$(PYTEST) -m "grading and not weekly" tests/cheats tests/grading tests/grading_runs tests/mutations $(ARGS)

# Deprecations are those of old packages, which their users do not see either.
test-lowest: $(LOWEST)/.dev ## run some tests with the lowest versions of the packages that gpulab needs
	$(LOWEST)/bin/python -m pytest -n 2 -W ignore::DeprecationWarning $(addprefix tests/,$(LOWEST_TESTS)) $(ARGS)

# The Python of a GPU node, with the packages that docs/gpu.md lists.
test-gpu: ## compare a CUDA GPU with the simulator, with PYTHON (python3) as it is; installs nothing
	@$(or $(PYTHON),python3) -c 'import gpulab; print("testing on", gpulab.device("cuda:0").name)'
	$(or $(PYTHON),python3) -m pytest tests/gpu $(ARGS)

test-fast: $(VENV)/.dev ## run the unit tests: no notebooks, browsers, nbgrader or corpora of kernels
	$(PYTEST) -m "not slow and not grading and not weekly" $(ARGS)

test-weekly: $(VENV)/.dev ## NVIDIA's headers, shipped figures and solutions, and more random cases
	$(PYTEST) -m weekly $(ARGS)

fuzz: $(VENV)/.dev ## new random kernels and new examples for the property tests (ARGS="--count 1000")
	$(BIN)/python -m tests.fuzz $(ARGS)
	$(BIN)/python -m tests.fuzz --faults $(ARGS)
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz

test-gpu: export PYTHONPATH := src:$(PYTHONPATH)

# Processes that tests start read each other's byte code, also where the environment forbids to write it.
test test-fast test-weekly test-grading test-lowest fuzz: export PYTHONDONTWRITEBYTECODE =

check: $(VENV)/.dev ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev ## put the code into the one format
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

# FOLDERS: copies of the repositories of benchmarks/compatibility, for first launches of their kernels.
bench: $(VENV)/.bench ## measure the simulator beside its peers, grading, kernel cells and sliders
	@command -v oclgrind >/dev/null 2>&1 || \
		echo "make bench: no oclgrind on PATH, so its row stays empty (Debian: apt install oclgrind)"
	$(BIN)/python -m benchmarks $(ARGS)
	$(BIN)/python -m benchmarks.first_launch
	$(if $(FOLDERS),$(BIN)/python -m benchmarks.first_launch $(FOLDERS))
	$(BIN)/python -m benchmarks.grading
	@if command -v chromium >/dev/null 2>&1; then \
		$(BIN)/python -m benchmarks.cell_times && $(BIN)/python -m benchmarks.sliders; else \
		echo "make bench: no chromium on PATH, so JupyterLab is not measured (Debian: apt install chromium)"; fi

clean: ## remove the environment, the demo and what tools leave (no gradebook, nothing of my-labs/)
	rm -rf $(VENV) build dist demo .mypy_cache .pytest_cache .ruff_cache .hypothesis $(GPULAB_TEST_CACHE)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp says which extras .venv has; it is older than pyproject.toml when they may have changed. An
# editable install copies the labextension, so a new build of it is installed anew.
$(VENV)/.lab: EXTRAS = lab
$(VENV)/.dev: EXTRAS = dev
$(VENV)/.bench: EXTRAS = bench
$(VENV)/.lab $(VENV)/.dev $(VENV)/.bench: pyproject.toml labextension/prebuilt.sha256 | $(BIN)/python
	@echo "installing gpulab[$(EXTRAS)] into $(VENV) (the first time takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]' || { \
		echo "make: pip could not install gpulab[$(EXTRAS)]; its message is above." >&2; exit 1; }
	@touch $@

# pip has no such resolution.
$(LOWEST)/.dev: pyproject.toml | $(BIN)/python
	@echo "installing the lowest versions that gpulab allows into $(LOWEST)"
	@$(BIN)/python -m venv --clear $(LOWEST)
	@$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
		--only-binary :all: --editable '.[dev]'
	@touch $@

$(BIN)/python:
	@python=; for name in $(or $(PYTHON),$(PYTHONS)); do \
		if command -v "$$name" >/dev/null 2>&1 && \
			"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python="$$name"; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "make: no Python 3.11 or newer found (looked for: $(or $(PYTHON),$(PYTHONS)))." >&2; \
		echo "      Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "make: $$python cannot make environments: its venv and ensurepip modules are missing." >&2; \
		echo "      On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
