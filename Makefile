# make demo    the main job on one small task, from nothing: installs, trains, leaves demo-report/
# make test    everything that a change is held to
# make lint    ruff and mypy
# make docs    the documentation, warnings being errors
# make clean   removes what these made, but for .venv; make distclean removes that too

PYTHON ?= python3
PYTEST_FLAGS ?= -n 2 --dist loadfile
BIN := .venv/bin
PIP := $(BIN)/python -m pip
EXTRAS := test,docs,contrib,tensorboard,wandb

# One thread a process: torch is several times slower with more on small nets, and seeds run side by side.
export OMP_NUM_THREADS := 1
# Nothing here needs a model hub; without this a look-up retries for a minute where there is no network.
export HF_HUB_OFFLINE := 1
export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DELETE_ON_ERROR:
.PHONY: demo test lint docs clean distclean

demo: .venv/.stamp-base
	$(BIN)/reward-envs compare reward_envs/DoorKey-8x8-v0 --agent ppo --seeds 3 --steps 180000 \
		--eval-every 15000 --eval-episodes 10 --out demo-report \
		--reward task --reward "task + potential(steps_to_go, decay=0.99, scale=2)" \
		--reward "task + milestones((0.2, 0.3, 0.0))" --reward "task + 0.01*count"

# The tests come last, so that their closing line does.
test: lint docs
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

lint: .venv/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/.stamp-test
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

.venv/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "reward-envs needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade pip
	touch $@

# torch first and alone: whatever is resolved after it keeps it, instead of choosing another build.
.venv/.stamp-torch: .venv/.stamp-venv constraints.txt
	$(PIP) install -c constraints.txt torch
	touch $@

.venv/.stamp-base: .venv/.stamp-torch pyproject.toml
	$(PIP) install -c constraints.txt -e .
	touch $@

.venv/.stamp-test: .venv/.stamp-torch pyproject.toml
	$(PIP) install -c constraints.txt -e ".[$(EXTRAS)]"
	touch $@

clean:
	rm -rf build dist *.egg-info docs/_build docs/_generated demo-report
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find reward_envs tests examples docs benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf .venv
