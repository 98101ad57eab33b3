# The few commands a person needs; `make` alone lists them.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# Programs, tests and the setup script look for each other here, wherever the user builds otherwise.
export CARGO_TARGET_DIR := $(CURDIR)/target

# Tests are of another profile than programs, and share with them all that is not ours (`Cargo.toml`): beside each other, in
# one folder, but for what is made in the end, of which both have some of the same name.
as_tested := --profile bench
checked := CARGO_BUILD_BUILD_DIR=$(CURDIR)/target CARGO_TARGET_DIR=$(CURDIR)/target/checked
PREFIX ?= /usr/local
CARGO ?= cargo

probe_and_cli := --package probe --package cli
for_c := --package master-worker-c --package malleable-c
applications := --package nbody --package cg
shipped := $(addprefix target/release/,sintonia libsintonia.so libmaster_worker.so libmaster_worker.a \
  libsintonia_malleable.so libsintonia_malleable.a nbody cg)
# Programs and libraries that tests start, of the crates that they show.
started := node keeper comm_datatype comm_ranks agent lend moving_ranks rod datatypes elastic mandelbrot queens ranks \
  mpi_ranks echo tunlet-host
of_crates := node-daemon comm instrument malleable master-worker mpi tunlet-abi
xfire := apps/xfire
matmul := apps/matmul
make_matmul = $(MAKE) --silent -C $(matmul) MPICC=mpicc.$(1) MPIRUN="mpirun.$(1)" \
  BUILD=$(CURDIR)/target/matmul-$(1)
stencil := apps/stencil
make_stencil = $(MAKE) --silent -C $(stencil) MPICC=mpicc.$(1) MPIRUN="mpirun.$(1)" \
  BUILD=$(CURDIR)/target/stencil-$(1)
make_xfire = $(MAKE) --silent -C $(xfire) MPICC=mpicc.$(1) MPIRUN="mpirun.$(1)" \
  BUILD=$(CURDIR)/target/xfire-$(1)

# Open MPI refuses root, and more ranks than cores; its waiting ranks take each other's core.
ifeq ($(shell id -u),0)
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
endif
demo test: export OMPI_MCA_rmaps_base_oversubscribe := 1
demo test: export OMPI_MCA_mpi_yield_when_idle := 1

.PHONY: help demo programs test bench fuzz lint docs deny install uninstall

help: ## list these commands
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

demo: ## run the example program plain, observed and tuned, and show what tuning did
	@scripts/setup.sh demo
	@$(CARGO) build --quiet --release $(probe_and_cli) --no-default-features
	@$(call make_xfire,openmpi)
	@scripts/demo.sh

programs: ## build what is shipped and what else tests start, and look for accesses that must fault
	@$(CARGO) build --quiet --release $(probe_and_cli) $(for_c) $(applications) $(addprefix --package ,$(of_crates)) \
	  --lib --bins $(addprefix --example ,$(started))
	@$(CARGO) xtask alignment $(shipped) $(addprefix target/release/examples/,\
	  $(patsubst echo,libecho.so,$(patsubst agent,libagent.so,$(started))))

test: ## run all tests, on real ranks, with programs as they are shipped; CRATE=name TEST=part: some
ifeq ($(origin CRATE),command line)
	@$(checked) $(CARGO) nextest run --cargo-profile bench --package $(CRATE) $(TEST)
else
	$(if $(TEST),$(error write CRATE=name too: TEST is a part of the names of its tests))
	@scripts/setup.sh test
	@$(MAKE) --silent programs
	@$(call make_xfire,openmpi) check
	@$(call make_xfire,mpich) check
	@$(call make_matmul,openmpi) check
	@$(call make_matmul,mpich) check
	@$(call make_stencil,openmpi) check
	@$(call make_stencil,mpich) check
	@$(checked) $(CARGO) test --quiet $(as_tested) --doc --workspace
	@$(checked) $(CARGO) nextest run --cargo-profile bench --workspace --lib --bins --tests
endif

bench: ## measure what watching, dealing and fitting cost
	@scripts/setup.sh bench
	@$(CARGO) build --quiet --release $(probe_and_cli) --package bench
	@$(CARGO) build --quiet --release --package instrument --example price
	@$(CARGO) build --quiet --release --package fitting --example made_up
	@$(CARGO) build --quiet --release --package comm --example comm_dealing --package master-worker --example dealing
	@$(CARGO) build --quiet --release --package master-worker-c
	@$(CARGO) build --quiet --release --package cg
	@$(CARGO) build --quiet --release --package node-daemon --example think
	@$(call make_xfire,openmpi)
	@target/release/bench

fuzz: ## search for inputs that break a reader: TARGET=name (all), SECONDS_EACH=900
	@scripts/fuzz.sh "$(TARGET)" $(or $(SECONDS_EACH),900)

lint: ## format, lints of the language, rules of this repository
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet $(as_tested) --workspace --all-targets -- --deny warnings
	@$(MAKE) --no-print-directory docs
	@$(CARGO) xtask tidy

docs: ## documentation of the crates, private items too, as target/doc
	@RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --quiet $(as_tested) --workspace --no-deps --document-private-items

deny: ## licenses, sources and known flaws of what is compiled in
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked cargo-deny
	@$(CARGO) deny check

install: ## install below PREFIX (/usr/local)
	@$(CARGO) build --quiet --release $(probe_and_cli) $(for_c)
	install -D -m 755 target/release/sintonia $(DESTDIR)$(PREFIX)/bin/sintonia
	install -D -m 755 target/release/libsintonia.so $(DESTDIR)$(PREFIX)/lib/libsintonia.so
	install -D -m 755 target/release/libmaster_worker.so $(DESTDIR)$(PREFIX)/lib/libmaster_worker.so
	install -D -m 644 target/release/libmaster_worker.a $(DESTDIR)$(PREFIX)/lib/libmaster_worker.a
	install -D -m 755 target/release/libsintonia_malleable.so $(DESTDIR)$(PREFIX)/lib/libsintonia_malleable.so
	install -D -m 644 target/release/libsintonia_malleable.a $(DESTDIR)$(PREFIX)/lib/libsintonia_malleable.a
	install -D -m 644 --target-directory=$(DESTDIR)$(PREFIX)/include \
	  crates/libraries/master-worker-c/include/master_worker.h crates/libraries/master-worker-c/include/master_worker.hpp \
	  $(addprefix crates/libraries/malleable-c/include/,malleable.h malleable.hpp sintonia_malleable.f90 \
	  sintonia_malleable_arrays.f90)
	@scripts/install-crates.sh $(DESTDIR)$(PREFIX)/share/sintonia

uninstall: ## remove what `make install` put there
	rm -f $(DESTDIR)$(PREFIX)/bin/sintonia $(DESTDIR)$(PREFIX)/include/{master_worker.h,master_worker.hpp,malleable.h,malleable.hpp,sintonia_malleable.f90,sintonia_malleable_arrays.f90} \
	  $(DESTDIR)$(PREFIX)/lib/lib{sintonia.so,master_worker.so,master_worker.a} \
	  $(DESTDIR)$(PREFIX)/lib/libsintonia_malleable.{so,a}
	rm -rf $(DESTDIR)$(PREFIX)/share/sintonia
