# Everything a fresh machine needs: `make audit` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# data sets of others for three of the scripts of `make perf`: DATA=FOLDER, with wikitext2/ (text files of WikiText-2) and
# redditbias/ (a checkout of github.com/umanlp/RedditBias)
DATA ?=
# `make perf SLOW=1` also runs what takes an hour of a core
SLOW ?=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: audit test test-slow check perf calibrate docs requirements pin-image clean help

help:           ## show what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'

$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evenhand needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	@echo "Installing evenhand into $(VENV) (the light core: 124 MB to download) ..."
	$(PIP) --editable .
	@touch $@

$(VENV)/dev: $(VENV)/core
	$(PIP) --editable ".[dev]"
	@touch $@

audit: $(VENV)/core  ## audit the embedded model: a table here, a report in report.html
	$(BIN)/evenhand audit evenhand/reference --suite quick --report report.html

test: $(VENV)/dev    ## run the tests
	$(BIN)/python -m pytest -n auto

test-slow: $(VENV)/dev    ## run the simulations and other tests that take minutes (nightly, before a release)
	$(BIN)/python -m pytest -n auto -m slow

check: $(VENV)/dev   ## lint, format, types, import rules and plain English
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/plain.py --check

perf: $(VENV)/dev    ## side-by-side performance scripts (minutes)
	$(PIP) --editable ".[lm-eval]"
	$(BIN)/python perf/scoring.py
	$(BIN)/python perf/overhead.py
	$(BIN)/python perf/full_set.py
	$(BIN)/python perf/composition.py
	$(BIN)/python perf/bias_score.py
	$(BIN)/python perf/power.py
	$(BIN)/python perf/generation.py
	$(BIN)/python perf/selfchat.py
	$(BIN)/python perf/triggers.py
	$(BIN)/python perf/self_debiasing.py
	$(BIN)/python perf/architectures.py
ifneq ($(DATA),)
	$(BIN)/python perf/counterfactual.py --data $(DATA)/wikitext2
	$(BIN)/python perf/debias_losses.py --data $(DATA)/redditbias
	OMP_NUM_THREADS=1 POLARS_MAX_THREADS=1 $(BIN)/python perf/frequencies.py --data $(DATA)
else
	@echo "Left out, since they need data sets of others: counterfactual.py, debias_losses.py, frequencies.py (make perf DATA=FOLDER)"
endif
ifneq ($(SLOW),)
	$(BIN)/python perf/gate.py
	$(BIN)/python perf/planted_names.py --folder planted_names
else
	@echo "Left out, since it takes an hour: planted_names.py (make perf SLOW=1)"
endif

calibrate: $(VENV)/core  ## run the full calibration and renew the numbers that measures and docs show (about five hours of one core)
	$(BIN)/evenhand calibrate --full -o calibration --summary src/evenhand/measures/calibration.json
	$(BIN)/python docs/generate.py

docs: $(VENV)/dev    ## build the documentation into site/
	$(PIP) --editable ".[docs]"
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict

requirements:   ## renew the versions and hashes that the Docker image installs (needs uv)
	printf 'hatchling>=1.25\n' | uv pip compile --quiet --generate-hashes --python-version 3.12 --python-platform linux \
	  --constraint constraints.txt --no-header --no-annotate pyproject.toml - --output-file deploy/requirements-image.txt

pin-image:      ## replace the tag of the Docker base image by its digest (needs docker and the network)
	digest=$$(docker buildx imagetools inspect python:3.12-slim --format '{{.Manifest.Digest}}') && test -n "$$digest" && \
	  sed -i.old "s|^ARG BASE=.*|ARG BASE=python:3.12-slim@$$digest|" Dockerfile && rm -f Dockerfile.old

clean:          ## remove the environment and everything built
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache
