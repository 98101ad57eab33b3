# The few commands a person needs; `make` alone lists them.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PREFIX ?= /usr/local
CARGO ?= cargo

demo_record := target/demo-run
probe_and_cli := --package probe --package cli
xfire := $(CURDIR)/apps/xfire

# Open MPI refuses root, and its waiting ranks would take each other's core.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif
export OMPI_MCA_mpi_yield_when_idle := 1

.PHONY: help demo test bench lint deny install uninstall

help: ## list these commands
	@sed -nE 's/^([a-z]+):.*## (.*)/make \1|\2/p' Makefile | column -t -s '|'

demo: ## watch the example program on 4 ranks and show the report
	@scripts/setup.sh demo
	@$(CARGO) build --quiet --release $(probe_and_cli)
	@$(MAKE) --silent -C $(xfire) MPICC=mpicc.openmpi BUILD=$(CURDIR)/target/xfire-openmpi
	@rm -rf $(demo_record)
	@target/release/sintonia run --out $(demo_record) -- \
	  mpirun.openmpi --oversubscribe -np 4 target/xfire-openmpi/xfire $(xfire)/data/demo.conf

test: ## run all tests, on real ranks
	@scripts/setup.sh test
	@$(CARGO) build --quiet $(probe_and_cli)
	@$(MAKE) --silent -C $(xfire) check
	@$(CARGO) test --quiet --doc --workspace
	@$(CARGO) nextest run --workspace

bench: ## measure what watching costs
	@scripts/setup.sh bench
	@$(CARGO) build --quiet --release $(probe_and_cli) --package bench
	@target/release/bench

lint: ## format, lints of the language, rules of this repository
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --workspace --all-targets -- --deny warnings
	@$(CARGO) xtask tidy

deny: ## licenses, sources and known flaws of what is compiled in
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked cargo-deny
	@$(CARGO) deny check

install: ## install below PREFIX (/usr/local)
	@$(CARGO) build --quiet --release $(probe_and_cli)
	install -D -m 755 target/release/sintonia $(DESTDIR)$(PREFIX)/bin/sintonia
	install -D -m 755 target/release/libsintonia.so $(DESTDIR)$(PREFIX)/lib/libsintonia.so

uninstall: ## remove what `make install` put there
	rm -f $(DESTDIR)$(PREFIX)/bin/sintonia $(DESTDIR)$(PREFIX)/lib/libsintonia.so
