# Every target works on a machine that has python3 and make, and nothing else.
#   make guide   the guide, with the models that ship
#   make test    the whole test suite
#   make lint    style and types
#   make bench   speed and memory beside other libraries, written to benchmarks/RESULTS.md (about an hour)

PYTHON ?= python3
BIN := .venv/bin
APT := DEBIAN_FRONTEND=noninteractive apt-get
# apt-get may be called: this is Debian, and the caller is root
CAN_APT := [ -f /etc/debian_version ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null

.PHONY: guide test lint bench browser
.DELETE_ON_ERROR:

guide: .venv/core
	$(BIN)/allyouneed guide

# Two processes of one thread each use two cores better than one process of two threads.
test: .venv/dev browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: .venv/dev
	$(BIN)/python benchmarks/run.py

# The environment is made once and renewed when the requirements change.
.venv/bin/python:
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(CAN_APT) && $(APT) update -qq && $(APT) install -yqq python3-venv; } \
		|| { echo 'python3 has no "venv" module here: install it first (on Debian and Ubuntu: apt install python3-venv)'; exit 1; }
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/core
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

# The browser tests want Chromium and a Korean font; without a browser they are skipped, with the reason. Chromium's
# headless shell alone takes half of the time; not every system has it.
browser:
	@if $(CAN_APT) && ! dpkg -s chromium-headless-shell fonts-nanum >/dev/null 2>&1; then \
		$(APT) update -qq; $(APT) install -yqq chromium-headless-shell fonts-nanum \
			|| $(APT) install -yqq chromium fonts-nanum || echo 'Chromium could not be installed.'; fi
