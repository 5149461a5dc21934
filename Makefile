# Every target sets itself up: on a machine with python3 (>= 3.11), pip, venv and make, nothing else is needed.
# The environment is .venv; a stamp in it makes the second run start at once, and a changed pyproject.toml renews it.

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
# Versions of everything that is installed, the same in CI as here; renewed by `make lock`. `make LOCK= test` takes what the index has.
LOCK ?= requirements.lock
PIP := python -m pip install -q --disable-pip-version-check $(if $(LOCK),-c $(LOCK))
PACKAGES := ir egraph extract lowering runtime ptxsim viz tilesat
READY := $(VENV)/.ready
LINT_READY := $(VENV)/.lint-ready
GPU_READY := $(VENV)/.gpu-ready
MLIR_READY := $(VENV)/.mlir-ready
PROVE_READY := $(VENV)/.prove-ready
DOCS_READY := $(VENV)/.docs-ready
LOCK_READY := $(VENV)/.lock-ready
BROWSER_READY := $(VENV)/.browser-ready
CUTILE := .venv-cutile
CUTILE_READY := $(CUTILE)/.ready

.PHONY: demo test test-all mutation test-mlir test-browser test-cutile test-gpu bench-gpu docs docs-check test-wheel lint format bench bench-all lock clean

demo: $(READY)
	$(BIN)/tilesat demo --output out/demo

# Files stay together (worksteal), so that kernels which the tests of one share are compiled once. What pytest makes of the
# assertions is kept for the next run: without it each process spends 13 s on that.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --durations=10

test: $(READY)
	$(PYTEST)

test-all: $(PROVE_READY)
	$(PYTEST) -m "not gpu and not mlir"

# Every rewrite rule weakened in one place at a time: does the soundness check find it? Prints the score and the survivors.
mutation: $(READY)
	$(BIN)/python -m tests.egraph.mutations.sweep

# Upstream MLIR parses and verifies every level that is printed; LLVM makes PTX of `--emit llvm` that computes the same.
test-mlir: $(MLIR_READY)
	$(BIN)/python -m pytest -q -m mlir

# The explorer's page in a Chromium that is on PATH (Debian: apt-get install chromium); skipped, with the reason, without.
test-browser: $(BROWSER_READY)
	$(BIN)/python -m pytest -q -rs -m browser

# TileGym's operators against PyTorch on the CPU, in an environment of its own, and what else needs PyTorch.
test-cutile: $(CUTILE_READY)
	$(CUTILE)/bin/python -m pytest -q -m cutile tests/cutile
	$(CUTILE)/bin/python -m pytest -q tests/tilesat/test_torch_ops.py tests/tilesat/test_backend.py tests/tilesat/test_calls.py

# On a machine with a GPU: every example on the card, then timings. Elsewhere the first target fails, the second says so.
test-gpu: $(GPU_READY)
	$(BIN)/python -m pytest -q -m gpu

bench-gpu: $(GPU_READY)
	$(BIN)/python -m benchmarks.gpu

# The site, with the API reference, in out/site; a dead link or a page that no entry of mkdocs.yml names fails it.
docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -W ignore -m mkdocs build --strict
	@echo "out/site/index.html"

# Generated pages are what their scripts make, and figures of the others have the command that makes them in their section;
# `make test` checks both.
docs-check: $(READY)
	$(BIN)/python -m tests.generated_pages --check
	$(BIN)/python -m tests.figures

# Both wheels, installed outside the tree in the locked versions and tried on every supported Python of this machine.
test-wheel: $(READY)
	$(BIN)/python -m tests.wheel

lint: $(LINT_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/pyright -p benchmarks
	$(BIN)/lint-imports

format: $(LINT_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)
	$(BIN)/python -m benchmarks.gemm

# All that need no card, as JSON in out/bench; `python -m benchmarks.all --compare OLD NEW` says what changed.
bench-all: $(READY)
	$(BIN)/python -m benchmarks.all

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tilesat needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

# Modules are compiled here, as pip does for a package that is not editable: some environments forbid Python to do it.
# The CUDA wheels declare 350 MB of companions (nvvm, runtime headers) that ptxas and nvdisasm never open: --no-deps.
$(READY): pyproject.toml $(LOCK) | $(BIN)/python
	$(BIN)/$(PIP) -e '.[test,lab]'
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["ptxas"], sep="\n")' > $(VENV)/ptxas.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -r $(VENV)/ptxas.txt
	$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

$(LINT_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/$(PIP) -e '.[test,lab,lint]'
	@touch $@

$(DOCS_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/$(PIP) -e '.[docs]'
	@touch $@

$(LOCK_READY): pyproject.toml $(READY)
	$(BIN)/$(PIP) -e '.[lock]'
	@touch $@

$(GPU_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/$(PIP) -e '.[test,lab,cuda]'
	@touch $@

# Its declared companions talk to a GPU; the bindings of MLIR need none of them: --no-deps.
$(MLIR_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["mlir"], sep="\n")' > $(VENV)/mlir.txt
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -r $(VENV)/mlir.txt
	@touch $@

$(PROVE_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/$(PIP) -e '.[test,lab,prove]'
	@touch $@

$(BROWSER_READY): pyproject.toml $(LOCK) $(READY)
	$(BIN)/$(PIP) -e '.[browser]'
	@touch $@

# PyTorch without CUDA where its index is reached; of what tilegym declares the operators need nothing else.
$(CUTILE_READY): pyproject.toml $(LOCK)
	$(PYTHON) -m venv $(CUTILE)
	$(CUTILE)/bin/python -m pip install -q --disable-pip-version-check --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0
	$(CUTILE)/bin/$(PIP) -e '.[test]' pytest-benchmark
	$(CUTILE)/bin/python -m pip install -q --disable-pip-version-check --no-deps tilegym==1.5.1
	@touch $@

LOCKED := test lab prove browser cuda docs lint lock
# One file for every supported Python, of the extras that targets install; the others have their versions in pyproject.toml.
lock: $(LOCK_READY)
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 $(LOCKED:%=--extra %) --no-header --annotation-style line pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) $(CUTILE) build out *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
