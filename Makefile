# mptcplab: `make run` and `make test` set up all they need, given Rust, Python 3.11 or later, gcc and make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
OUT    := out/wifi-lte

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -path '*/src/*' -o -name Cargo.toml -path 'crates/*')

.PHONY: help audit audit-crates audit-packages setup missing-core run test build-tests test-rust test-python test-virtual test-live test-oldest lint lint-rust lint-types lint-python coverage format \
  bench bench-compare soak soak-extreme soak-linux-virtual soak-schedulers soak-attack soak-lab soak-disk soak-kill soak-live soak-sessions soak-sweep soak-papers \
  pictures notebooks interop fuzz sanitize lock profile wheel wheel-arm64 sdist check-install docs release clean

help:  ## This list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.core  ## The environment in .venv, with the command .venv/bin/mptcplab; quick when nothing changed

# Each stamp is written last: an interrupted step is done again.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("mptcplab needs Python 3.11 or later, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.packages: requirements.lock $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	@touch $@

# Also when the module itself is gone.
$(VENV)/.core: pyproject.toml $(RUST_SOURCES) $(VENV)/.packages $(if $(wildcard python/mptcplab/_core*.so),,missing-core)
	MPTCPLAB_SOURCES=$$($(BIN)/python python/mptcplab/sources.py) PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --locked
	@touch $@

missing-core:

run: setup  ## Run scenarios/wifi-lte.toml on the simulator; the report goes to out/wifi-lte/report.html
	$(BIN)/mptcplab run scenarios/wifi-lte.toml --out $(OUT)

test: test-rust test-python  ## All tests, Rust and Python

build-tests:
	cargo test --workspace --locked --no-run

test-rust:
	cargo test --workspace --locked --no-fail-fast

JOBS ?= auto
test-python: test-virtual test-live

# On all cores what does not look at the clock, a file at a time.
test-virtual: setup
	$(BIN)/python -m pytest -m "not live" --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

# What does look at the clock: it mostly waits, so three files at a time.
test-live: setup
	$(BIN)/python -m pytest -m live --numprocesses 3 --dist loadfile --no-loadscope-reorder

lint: setup  ## Formatting, lints and types, Rust and Python, two checks at a time
	@$(MAKE) --no-print-directory --jobs 2 lint-rust lint-types lint-python

lint-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

lint-types: setup
	$(BIN)/basedpyright

lint-python: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --package tools --package studies
	@for paper in $(dir $(wildcard papers/*/study)); do \
	  echo "$(BIN)/mypy --package study, in $$paper"; MYPYPATH=$$paper $(BIN)/mypy --package study || exit 1; done
	$(BIN)/python -m mypy.stubtest mptcplab._core

# Rust's needs nightly, as the stable compiler counts no branches: `rustup component add llvm-tools --toolchain nightly` and
# `cargo install cargo-llvm-cov`. What a test ends by a signal is not counted.
coverage: setup  ## Lines and branches that the tests reach: Python in target/coverage/python, Rust in target/coverage/rust
	mkdir -p target/coverage
	rm -f target/coverage/data*
	$(BIN)/coverage run --data-file=target/coverage/data -m pytest -q -m "not live and not slow" \
	  --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage combine --quiet --data-file=target/coverage/data
	$(BIN)/coverage html --quiet --data-file=target/coverage/data --directory=target/coverage/python
	$(BIN)/coverage report --data-file=target/coverage/data --skip-covered
	@command -v cargo-llvm-cov >/dev/null || { echo "Rust's coverage needs cargo-llvm-cov: cargo install cargo-llvm-cov" >&2; exit 3; }
	cargo +nightly llvm-cov --locked --workspace --exclude mptcplab-python --branch --html --output-dir target/coverage/rust
	cargo +nightly llvm-cov report --branch --summary-only

format: setup  ## Format all sources
	cargo fmt --all
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

WORKLOADS ?=
bench: setup  ## The simulator's speed on one core: WORKLOADS (w1 … w7); the table, and target/bench/COMMIT.json; how quickly the page of lab answers
	$(BIN)/python -m tools.bench run $(WORKLOADS)
	$(if $(WORKLOADS),,@$(BIN)/python -m tools.lab latency || [ $$? = 3 ])

bench-compare: setup  ## The same beside the commit BASE, in turn: make bench-compare BASE=HEAD~1 WORKLOADS="w5 w3"
	$(BIN)/python -m tools.bench compare $(BASE) $(WORKLOADS)

SOAK_CASES ?= 20000
SOAK_SEED ?= $(shell date +%s)
soak:  ## SOAK_CASES (20000) random transfers over random networks, middleboxes and faults, in the transport's harness and in the simulator
	PROPTEST_RNG_SEED=$(SOAK_SEED) PROPTEST_CASES=$(SOAK_CASES) cargo test --release --locked -p transport --test connections -- property:: needless_timeouts
	ANY_NETWORK_CASES=$(SOAK_CASES) cargo test --release --locked -p simulator --test networks any_network -- --nocapture

soak-extreme:  ## SOAK_CASES (20000) legal networks with numbers at the ends of their ranges: no panic, no overflow, two runs equal
	CARGO_PROFILE_TEST_OPT_LEVEL=3 EXTREME_CASES=$(SOAK_CASES) cargo test --locked --target-dir target/soak -p simulator --test networks extreme \
	  -- --nocapture

CHECKS ?= advisories bans licenses sources
audit: audit-crates audit-packages  ## Security advisories of the crates and packages; versions twice, licences and sources of the crates (deny.toml); needs cargo-deny and pip-audit

audit-crates:
	@command -v cargo-deny >/dev/null || { echo "make audit needs cargo-deny: cargo install --locked cargo-deny" >&2; exit 3; }
	cargo deny --locked check $(CHECKS)

audit-packages:
	@$(PYTHON) -m tools.audit

soak-linux-virtual: setup  ## Build a guest's kernel (6.12, with the coupled controls; 10 minutes on 2 cores unless it is there) and run the tests that need one
	$(BIN)/mptcplab kernel build 6.12 --with balia,ewtcp,lia,mppert,olia,pert,wvegas
	$(BIN)/python -m pytest tests/live/test_linux_virtual.py

SCHEDULER_CASES ?= 10000
soak-schedulers:  ## SCHEDULER_CASES (10000) random transfers over random paths with each scheduler
	SCHEDULER_CASES=$(SCHEDULER_CASES) cargo test --release --locked -p transport --test connections property::every_scheduler -- --nocapture

soak-attack:  ## A stack under eleven attacks (floods, slow peers, holes, contradictory mappings, half-open joins, a hostile server, …), then 100,000 connections one after another
	cargo run --release --locked -p live --example attack

pictures: setup  ## The pictures of README and the documentation in docs/images; needs Chromium
	$(BIN)/python -m tools.lab pictures
	$(BIN)/python -m tools.gallery
	$(BIN)/python -m studies.advise --out docs/data/advise.jsonl.gz --networks 0 --figure docs/images/advise.png

SOAK_MINUTES ?= 10
soak-lab: setup  ## Ten open pages of `mptcplab lab` for SOAK_MINUTES (10): errors and memory; then a long fuzz of its server
	$(BIN)/python -m tools.lab soak $(SOAK_MINUTES)
	MPTCPLAB_LAB_FUZZ=3000 $(BIN)/python -m pytest -q tests/lab/test_fuzz.py

notebooks: setup  ## Run the notebooks of docs/notebooks, take their outputs out, and note what they print in tests/notebooks.json
	$(BIN)/python -m tools.notebooks

LIVE_CASES ?= 10000
soak-live: setup  ## LIVE_CASES (10000) random programs between our stack and the kernel, in every pairing, over random networks; root, about two hours
	MPTCPLAB_DIFFERENTIAL_CASES=$(LIVE_CASES) $(BIN)/python -m studies differential

soak-papers: setup  ## The papers' tests with all experiments that look for causes
	MPTCPLAB_WHOLE_PAPERS=1 $(BIN)/python -m pytest tests/papers

INTEROP_BYTES ?= 100000000
interop: setup  ## Our transport against the kernel's, every case, INTEROP_BYTES (100 MB) each way with loss and reordering; root
	$(BIN)/python -m tests.interop.matrix --size $(INTEROP_BYTES)

SWEEP_KILLS ?= 10
soak-sweep: setup  ## Kill a sweep SWEEP_KILLS (10) times at random moments, resume it, and compare with one left alone
	MPTCPLAB_SWEEP_KILLS=$(SWEEP_KILLS) $(BIN)/python -m pytest tests/sweeps -k killed_again

SESSIONS ?= 300
soak-sessions: setup  ## SESSIONS (300) of agents, probe servers and the laboratory that are asked anything; guests killed, Dask's workers that die; root
	MPTCPLAB_SESSIONS=$(SESSIONS) MPTCPLAB_KILLS=20 MPTCPLAB_DEATHS=20 SOAK_SEED=$(SOAK_SEED) $(BIN)/python -m pytest -q -s \
	  tests/testbed/test_any_session.py tests/probe/test_any_client.py tests/lab/test_any_visitor.py tests/live/test_killed_guests.py \
	  tests/sweeps/test_cluster.py

KILLS ?= 100
soak-kill: setup  ## Kill each command that writes KILLS (100) times, at random moments and, with strace, at the system calls that change files: the old state or the new, never a mixture
	nice -n 15 $(BIN)/python -m tools.soak kill $(KILLS)

soak-disk: setup  ## Run each command that writes on disks with room for 0, 30, 60 and 90 % of what it writes; root
	nice -n 15 unshare --mount $(abspath $(BIN))/python -m tools.soak full

FUZZ_SECONDS ?= 60
fuzz:  ## Fuzz the codec for FUZZ_SECONDS (60) a target; needs nightly Rust and cargo-fuzz
	@command -v cargo-fuzz >/dev/null || { echo "make fuzz needs cargo-fuzz: cargo install cargo-fuzz" >&2; exit 3; }
	@for target in $$(cargo +nightly fuzz list); do \
	  cargo +nightly fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# The sanitizers are behind a flag that a stable compiler takes only from a bootstrap.
sanitize:  ## The tests of wire, transport and live under the address sanitizer: about ten minutes on 2 cores
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test --locked --target $$(rustc -vV | sed -n 's/^host: //p') \
	  --target-dir target/sanitize --tests -p wire -p transport -p live

# With the oldest Python that distributions ship (3.11.2): some packages' newest releases want a later patch of 3.11.
lock: setup  ## Write requirements.lock anew from what .venv holds
	@{ echo '# The versions that `make setup` installs and CI tests with; made by `make lock`.'; \
	  $(BIN)/python -m pip freeze --exclude-editable --exclude mptcplab; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock

# Where branches go and what is called, as the workloads of the benchmark have it: docs/performance.md says what it gains.
PROFDATA := $(wildcard $(shell rustc --print target-libdir 2>/dev/null)/../bin/llvm-profdata)
PROFILED := target/profile/mptcplab.profdata
$(PROFILED): Cargo.toml Cargo.lock $(RUST_SOURCES) tools/release/training.py tools/release/profile.py | $(VENV)/.packages
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/python -m tools.release.profile $@

profile: $(PROFILED)  ## What the wheel's core is optimized for; needs rustup's component llvm-tools

NATIVE_WHEEL = target/wheels/*_$(shell uname -m).whl
# Zig links against an old glibc, so that the wheel installs on distributions from 2014 on (manylinux2014: glibc 2.17).
PROFILE ?= $(if $(PROFDATA),$(PROFILED))
wheel: $(VENV)/.packages $(PROFILE)  ## A manylinux wheel for this machine in target/wheels, with the ready-made scenarios, the papers and the kernel programs; PROFILE= for one without a profile
	@$(if $(PROFILE),,echo "Without a profile the core is about a tenth slower, with the same results: rustup component add llvm-tools")
	rm -f $(NATIVE_WHEEL)
	MPTCPLAB_COMMIT=$$(git rev-parse HEAD) VIRTUAL_ENV=$(abspath $(VENV)) PATH=$(abspath $(BIN)):$$PATH \
	  RUSTFLAGS="$(strip $(RUSTFLAGS) $(if $(PROFILE),-Cprofile-use=$(abspath $(PROFILE))))" \
	  $(BIN)/maturin build --release --locked --zig --compatibility manylinux2014 --out target/wheels
	$(if $(PROFILE),$(BIN)/python -m tools.release.profile $(PROFILE) $(NATIVE_WHEEL))

# Without a profile: its counts are of another machine's functions.
wheel-arm64: $(VENV)/.packages  ## The wheel for 64-bit ARM, cross-compiled; needs `rustup target add aarch64-unknown-linux-gnu`
	rm -f target/wheels/*_aarch64.whl
	MPTCPLAB_COMMIT=$$(git rev-parse HEAD) VIRTUAL_ENV=$(abspath $(VENV)) PATH=$(abspath $(BIN)):$$PATH \
	  $(BIN)/maturin build --release --locked --zig --target aarch64-unknown-linux-gnu --compatibility manylinux2014 --out target/wheels

sdist: $(VENV)/.packages  ## A source distribution in target/wheels; installing it needs Rust and a C compiler
	rm -f target/wheels/*.tar.gz
	$(BIN)/maturin sdist --out target/wheels

check-install: wheel sdist  ## Install the wheel in empty environments, with the oldest and the newest dependencies, and the sdist, and try them
	$(BIN)/python -m tools.release.install $(NATIVE_WHEEL) --sdist target/wheels/*.tar.gz $(if $(PYTHONS),--python $(PYTHONS)) $(CHECK_INSTALL)

test-oldest: setup  ## The tests of what depends on other packages, with the oldest releases that pyproject.toml allows
	$(BIN)/python -m tools.release.oldest

docs: setup  ## The documentation as a website in target/site, with the notebooks run, which works offline; fails on a broken link
	EXECUTE_NOTEBOOKS=true NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "target/site/index.html"

VERSION ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: setup  ## Check that VERSION can be released and write its notes; TAG=1 also makes the tag
	$(BIN)/python -m tools.release $(VERSION) $(if $(TAG),--tag)

clean:  ## Remove what was built
	rm -rf $(VENV) target fuzz/target out .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find python tests papers studies tools -name __pycache__ -type d -exec rm -rf {} +
	rm -f python/mptcplab/_core*.so
