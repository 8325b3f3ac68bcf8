# The list of commands. CI runs the same ones. `make help` prints this list.
#
# Builds share one target directory. Tests, and the servers that the conformance and interop runs start, use the dev
# profile: `cargo test` compiles everything under it anyway, and debug assertions and overflow checks stay on while a
# foreign client talks to the server. `run` and `bench` use release.

SHELL := bash
.DEFAULT_GOAL := help

CARGO ?= cargo
# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60
# Which benchmark suite, and its options.
BENCH ?= server --quick

.PHONY: help run test deps fmt lint doc alone unit contract golden conformance interop cluster dispatch soak fuzz bench clean

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

run: ## serve the demo on 127.0.0.1:8080
	$(CARGO) run --release -p trunkline -- serve --demo

test: ## everything below up to `dispatch`, each step timed, with a summary
	@scripts/test.sh

deps: ## install what the tests need into .cache
	@scripts/deps.sh

fmt: ## formatting, checked; `cargo fmt` mends it
	$(CARGO) fmt --all -- --check
	$(CARGO) fmt --manifest-path interop/rust/Cargo.toml -- --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml -- --check

lint: ## clippy, no warnings
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --manifest-path interop/rust/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target) -- -D warnings

doc: ## the documentation builds, no warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

alone: ## each crate compiles without its neighbours' features
	@scripts/alone.sh

unit: ## every Rust test, documentation tests too
	$(CARGO) test --locked --workspace --no-fail-fast

contract: ## the suite that every store and hub must pass
	$(CARGO) test --locked -p trunkline-store -p trunkline-hub --test contract

golden: ## wire fixtures of every revision
	$(CARGO) test --locked -p trunkline-protocol --test golden

conformance: ## the official conformance suite against examples/everything, and against our client
	@status=0; scripts/conformance.sh || status=$$?; scripts/conformance.sh --client || status=$$?; exit $$status

interop: ## the official clients against the demo server, and our client and load generator against the official SDKs' servers
	@status=0; interop/run.sh || status=$$?; interop/load/run.sh || status=$$?; exit $$status

cluster: ## conformance and interop through HAProxy, three replicas on one Redis
	@scripts/cluster.sh

dispatch: ## instructions of each request, held against bench/dispatch/baseline.json
	$(CARGO) build --locked --profile counted -p bench-dispatch
	BENCH_DISPATCH_BIN=$(or $(CARGO_TARGET_DIR),target)/counted/bench-dispatch $(CARGO) run --locked -p trunkline-loadtest -- bench dispatch

soak: ## ten minutes of a fleet at work, after which nothing may be left behind
	$(CARGO) build --locked -p trunkline
	$(CARGO) test --locked -p trunkline-harness --test soak -- --ignored --nocapture

fuzz: ## every fuzz target for FUZZ_SECONDS
	@fuzz/run.sh $(FUZZ_SECONDS)

bench: ## a benchmark suite: BENCH='server --pin', 'server --quick', ...
	$(CARGO) build --release -p floor -p bench-ours -p bench-client
	$(CARGO) run --release -p trunkline-loadtest -- bench $(BENCH)

clean: ## remove what was built and installed
	rm -rf target .cache
