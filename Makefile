# Turnstile. `make help` lists what can be done here.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# A backtrace of every Rust error would end up in what the tests compare.
unexport RUST_BACKTRACE
unexport RUST_LIB_BACKTRACE

# PG=17 builds for another server, and tests there: see scripts/server.
# Data of one version is nothing to another.
ifdef PG
export TURNSTILE_SERVER := $(PG)
export TURNSTILE_CLUSTERS ?= $(CURDIR)/target/clusters/$(PG)
endif

# As PGXN's client calls it: make all PG_CONFIG=…
ifeq ($(origin PG_CONFIG),command line)
export TURNSTILE_PG_CONFIG := $(PG_CONFIG)
endif

SCHEDULER_TEST := $(if $(STEPS),TURNSTILE_STEPS=$(STEPS)) cargo test --release -p turnstile-scheduler --features fault_injection
HISTORIES := target/venv/bin/python pg_test/histories $(if $(SEED),--seed $(SEED)) \
  $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(CRASHES),--crashes $(CRASHES))
# Can be told to panic, and to leave a mechanism out.
TEST_FEATURES := seeded_faults,fault_injection
TEST_BUILD := TURNSTILE_FEATURES=$(TEST_FEATURES)
# The longest of each list first, since several run at a time.
QUICK_PARTS := test-rules test-scheduler test-faults test-program test-batches test-histories test-concurrent test-surroundings test-security \
  test-docs test-upgrades test-rights isolation test-servers regress
# What takes long, or another build; of parts that are above, too, what they have left out. In CI there is no time for all of them: after
# the findings, which are many tests, the shortest first.
REST_PARTS := test-findings test-batches test-storm test-upgrades test-monitoring test-cron test-surroundings test-fuzz test-histories \
  test-seeded-faults test-packages test-injected test-clients test-examples test-conformance test-program test-failover test-mutants
LONGEST := test-mutants test-findings
ALL_PARTS := $(LONGEST) $(filter-out $(LONGEST),$(REST_PARTS) $(filter-out $(REST_PARTS),$(QUICK_PARTS)))
# TURNSTILE_TIER=quick leaves out of a part what is marked as long, TURNSTILE_TIER=rest runs only that.
TIER_quick := -m 'not long'
TIER_rest := -m long
TIER := $(TIER_$(TURNSTILE_TIER))

.PHONY: help
help: ## list the targets
	@echo 'usage: make TARGET'
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20 | sed 's/^/  /'

# ---- Build ----------------------------------------------------------------------------------------

.PHONY: setup
setup: ## install what is missing to build and test (Debian, Ubuntu)
	@scripts/setup

.PHONY: build
build: setup ## compile the extension in release mode, without installing it
	@scripts/install --build-only

.PHONY: all
all: build

.PHONY: install
install: setup ## build, put the extension into the server's directories and the program below /usr/local (PREFIX=…, TURNSTILE_FEATURES=…)
	@scripts/install

.PHONY: uninstall
uninstall: ## remove what `make install` has put there
	@scripts/uninstall

.PHONY: deb
deb: ## build the Debian packages postgresql-NN-turnstile and turnstile-cli, into target/deb (PG=NN)
	@scripts/setup packaging
	@scripts/package

.PHONY: release
release: ## check and build a release, without publishing it (VERSION=…; CHECK=1: only what is checked in a moment)
	@scripts/release $(if $(CHECK),--check) "$(VERSION)"

.PHONY: demo
demo: install ## watch 16 workers checksum the files below DIR=/some/dir (default /usr/share/doc; SERVE=1: also in a browser)
	@SERVE=$(SERVE) demo/run $(if $(DIR),"$(DIR)")

.PHONY: demo-batch
demo-batch: install ## watch 60 workers install an app on DEVICES=… devices (default 2000) while an operator slows them down (SERVE=1: also in a browser)
	@SERVE=$(SERVE) demo/run-batch $(DEVICES)

# ---- Tests ----------------------------------------------------------------------------------------

.PHONY: test
test: ## what shows most in less than 15 minutes, some parts at a time (TURNSTILE_JOBS=…)
	@TURNSTILE_TIER=quick scripts/test-all $(QUICK_PARTS)

.PHONY: test-rest
test-rest: ## what `make test` leaves out: mutants, long histories, findings, fuzz, examples, … (TURNSTILE_SECONDS=…)
	@TURNSTILE_TIER=rest scripts/test-all $(REST_PARTS)

.PHONY: test-full
test-full: ## all of both
	@scripts/test-all $(ALL_PARTS)

.PHONY: test-versions
test-versions: setup ## the quick parts on PostgreSQL 16, 17, 18 and 18 with assertions, more of them on 18 (VERSIONS=…)
	@TURNSTILE_TIER=quick scripts/test-versions $(VERSIONS)

.PHONY: test-scheduler
test-scheduler: setup ## test the scheduler by itself, against a naive model (STEPS=…: steps of each random run)
	@$(SCHEDULER_TEST) --quiet -- --list 2>/dev/null | grep ': test$$' >/dev/null || \
	  { $(SCHEDULER_TEST) --no-run && echo 'the scheduler has no tests' >&2; exit 1; }
	@$(SCHEDULER_TEST)

.PHONY: test-seeded-faults
test-seeded-faults: setup ## break each mechanism of the scheduler in turn: its tests must notice
	@cargo test --release -p turnstile-scheduler --features faults --test faults --test crowd_faults --test due_faults --test wake_up_faults --test channel_faults --test outlook_faults --test figures_faults --test worker_faults

.PHONY: test-fuzz
test-fuzz: setup ## fuzz the scheduler for a minute, whole and with its memory damaged
	@scripts/fuzz 30

.PHONY: fuzz
fuzz: setup ## fuzz the scheduler for long (FUZZ_SECONDS=…: of each of the two targets)
	@scripts/fuzz $(or $(FUZZ_SECONDS),3600)

.PHONY: test-rules
test-rules: install ## test each promise of the documentation
	@scripts/run-pytest pg_test/rules

.PHONY: test-servers
test-servers: install ## what the server's headers, log and settings must be like, whatever its version
	@TURNSTILE_CLUSTER=servers scripts/run-pytest pg_test/servers

.PHONY: test-rights
test-rights: install ## test who may do what, each call by each role, on a cluster of its own (TURNSTILE_CALLS=…)
	@TURNSTILE_CLUSTER=rights scripts/run-pytest pg_test/rights

.PHONY: security-page
security-page: install ## write the matrix of docs/security.md anew, from the catalog
	@TURNSTILE_CLUSTER=rights scripts/run-python pg_test/rights/page.py

.PHONY: reference
reference: install ## write docs/reference anew, from the catalog's COMMENTs and the errors in the sources
	@scripts/run-python pg_test/docs/reference.py

.PHONY: test-upgrades
test-upgrades: install ## upgrades from each release, library and catalog of other versions, the API against that of each release
	@TURNSTILE_CLUSTER=upgrades scripts/run-pytest pg_test/upgrades $(TIER)

.PHONY: freeze
freeze: install ## keep the install script and the API of the version under development, before its release
	@scripts/run-python pg_test/upgrades/freeze.py

.PHONY: upgrade-script
upgrade-script: ## begin the upgrade script from the release FROM=…
	@target/venv/bin/python pg_test/upgrades/script.py $(FROM)

.PHONY: regress
regress: install ## compare what SQL prints with what is expected
	@pg_test/regress/run

.PHONY: isolation
isolation: install ## interleave sessions step by step and compare
	@pg_test/isolation/run

.PHONY: test-concurrent
test-concurrent: install ## many workers at once, their history checked afterwards
	@scripts/run-pytest pg_test/concurrent

.PHONY: test-batches
test-batches: install ## batches, children, jobs after others; the story with 10,000 children
	@TURNSTILE_CLUSTER=batches scripts/run-pytest pg_test/batches $(TIER)

.PHONY: test-faults
test-faults: install ## rebuilds, isolation levels, direct DML, overflow
	@TURNSTILE_CLUSTER=faults scripts/run-pytest pg_test/faults

.PHONY: test-surroundings
test-surroundings: install ## calls against plain SQL, whatever users add to the tables (COMBINATIONS=…, SEED=…, ELEMENTS=…)
	@TURNSTILE_CLUSTER=surroundings scripts/run-pytest pg_test/surroundings $(TIER) $(if $(SEED),--seed $(SEED)) \
	  $(if $(COMBINATIONS),--combinations $(COMBINATIONS)) $(if $(ELEMENTS),--elements $(ELEMENTS))

.PHONY: test-findings
test-findings: install ## what users make of the tables: columns, triggers, rewrites, other relations
	@TURNSTILE_CLUSTER=findings scripts/run-pytest pg_test/findings

.PHONY: test-storm
test-storm: install ## workers beside changes of their tables (STORM_SECONDS=…, TURNSTILE_PG_CONFIG=… of another server)
	@TURNSTILE_CLUSTER=storm scripts/run-pytest pg_test/storm

.PHONY: test-security
test-security: install ## what ordinary roles can do to others, and to the server; pgspot on the script
	@TURNSTILE_CLUSTER=security scripts/run-pytest pg_test/security

.PHONY: test-histories
test-histories: install ## a long random history with crashes, and the checker's own tests (TURNSTILE_OPERATIONS=…, TURNSTILE_CRASHES=…)
	@TURNSTILE_CLUSTER=histories scripts/run-pytest pg_test/histories $(TIER)

.PHONY: histories
histories: install ## record and check one random history (SEED=…, OPERATIONS=…, CRASHES=…)
	@$(HISTORIES)

.PHONY: soak
soak: install ## hours of histories, sqlsmith, bad input, … (PARTS=…, SEED=…, ROUNDS=…, OPERATIONS=…, CRASHES=…, SECONDS=…)
	@target/venv/bin/python pg_test/soak $(PARTS) $(if $(SEED),--seed $(SEED)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(OPERATIONS),--operations $(OPERATIONS)) $(if $(CRASHES),--crashes $(CRASHES)) $(if $(SECONDS),--seconds $(SECONDS))

.PHONY: test-injected
test-injected: install ## panics injected into the scheduler's steps, with a build of its own
	@$(TEST_BUILD) TURNSTILE_CLUSTER=injected scripts/run-pytest pg_test/faults_injected

.PHONY: test-mutants
test-mutants: install ## leave out each mechanism of the server side in turn: the test that guards it must fail
	@$(TEST_BUILD) TURNSTILE_CLUSTER=mutants scripts/run-pytest pg_test/mutants

.PHONY: test-docs
test-docs: install ## run the SQL of the documentation, follow its links, compare the reference, try the demos
	@scripts/run-pytest pg_test/docs demo

.PHONY: test-examples
test-examples: install ## the workers of examples/, by themselves and through PgBouncer, and its applications
	@scripts/setup examples
	@scripts/run-pytest pg_test/examples

.PHONY: test-clients
test-clients: install ## the libraries of clients/, installed as users would
	@scripts/setup clients
	@target/clients/venv/bin/mypy --strict clients/python/src
	@TURNSTILE_CLUSTER=clients VENV=target/clients/venv scripts/run-pytest clients/python/tests
	@TURNSTILE_CLUSTER=clients scripts/run-node clients/node

.PHONY: test-conformance
test-conformance: install ## what each client must do: clients/, crates/client, the worker in bash; directly and through PgBouncer (TURNSTILE_LANGUAGES=…)
	@scripts/setup clients
	@cargo build --quiet --package turnstile-client --example conformance
	@TURNSTILE_CLUSTER=conformance scripts/run-pytest pg_test/clients

.PHONY: test-program
test-program: install ## the program `turnstile` and the worker runtime: their own tests, and against a server, also through PgBouncer
	@scripts/setup program
	@cargo build --quiet --release --package turnstile-cli --package turnstile-client --bins --examples
	@cargo test --quiet --release --package turnstile-cli --package turnstile-client
	@TURNSTILE_CLUSTER=program scripts/run-pytest pg_test/program $(TIER)

.PHONY: screenshots
screenshots: install ## take the pictures of the dashboard for docs/ anew (MINUTES=…: so long jobs come and go before, 10)
	@scripts/setup program
	@cargo build --quiet --release --package turnstile-cli
	@TURNSTILE_CLUSTER=screenshots scripts/run-python pg_test/program/dashboard/screenshots.py $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: test-monitoring
test-monitoring: install ## the exporter, alert rules and dashboard, with the exporter and Prometheus of the distribution
	@scripts/setup monitoring
	@TURNSTILE_CLUSTER=monitoring scripts/run-pytest pg_test/monitoring

.PHONY: test-failover
test-failover: install ## a standby promoted under load, four times each way, and what its sessions see
	@scripts/setup examples
	@TURNSTILE_CLUSTER=failover scripts/run-pytest pg_test/failover

.PHONY: failover
failover: install ## the same many times in a row, with numbers (PROMOTIONS=20)
	@scripts/setup examples
	@TURNSTILE_PROMOTIONS=$(or $(PROMOTIONS),20) PYTEST_TIMEOUT=3600 TURNSTILE_CLUSTER=failover \
	  scripts/run-pytest pg_test/failover/test_failover.py -s

MOVES := $(or $(VERSIONS),15 16 17 18)

.PHONY: test-moves
test-moves: install ## pg_upgrade, dump and logical replication between servers (VERSIONS='15 16 17 18': in this order)
	@for server in $(MOVES); do scripts/server $$server && TURNSTILE_SERVER=$$server scripts/install; done
	@TURNSTILE_VERSIONS='$(MOVES)' TURNSTILE_CLUSTER=moves scripts/run-pytest pg_test/moves

.PHONY: test-cron
test-cron: install ## the schedule, with the real pg_cron; takes two minutes for pg_cron's clock
	@scripts/test-cron

.PHONY: test-packages
test-packages: install ## the package in a clean system, the steps of the Dockerfile, the checks of a release
	@scripts/setup packaging
	@TURNSTILE_CLUSTER=packages scripts/run-pytest pg_test/packages

PACKAGED := $(or $(VERSIONS),17 18)

.PHONY: test-suites
test-suites: setup ## the package and the image of newer servers, in the suites of Debian that have these (VERSIONS='17 18')
	@scripts/setup packaging
	@for server in $(PACKAGED); do $(MAKE) PG=$$server test-suite; done

.PHONY: test-suite
test-suite: install
	@TURNSTILE_CLUSTER=packages scripts/run-pytest pg_test/packages/test_package.py pg_test/packages/test_container.py

.PHONY: lint
lint: setup ## check formatting, clippy, the rules of the house and the crates of others
	@status=0; \
	cargo fmt --all --check || status=1; \
	cargo clippy --workspace --all-targets -- -D warnings || status=1; \
	cargo clippy --package turnstile --features $(TEST_FEATURES) -- -D warnings || status=1; \
	cargo fmt --manifest-path fuzz/Cargo.toml --check || status=1; \
	cargo clippy --quiet --manifest-path fuzz/Cargo.toml --target-dir target/fuzz -- -D warnings || status=1; \
	cargo fmt --manifest-path examples/rust/Cargo.toml --check || status=1; \
	cargo clippy --quiet --locked --manifest-path examples/rust/Cargo.toml --target-dir target/examples -- -D warnings || status=1; \
	scripts/check-house || status=1; \
	scripts/check-circles || status=1; \
	scripts/check-crates || status=1; \
	exit $$status

# ---- Benchmarks -----------------------------------------------------------------------------------

.PHONY: bench-scheduler
bench-scheduler: setup ## measure the scheduler by itself: its steps, its memory, its rebuild
	@cargo bench --quiet -p turnstile-scheduler --bench scheduler

.PHONY: bench
bench: install ## measure Turnstile and its peers, hours long (MINUTES=…); writes docs/benchmarks.md
	@bench/compare $(if $(MINUTES),--minutes $(MINUTES))

.PHONY: bench-quick
bench-quick: install ## the same in a few minutes, to see that it runs; the page goes to target/bench
	@bench/compare --quick

.PHONY: bench-own
bench-own: install ## measure Turnstile in difficult situations, one after the other; takes long (QUICK=1: does not)
	@bench/run $(if $(QUICK),--quick)
