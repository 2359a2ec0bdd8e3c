# Names of commands; what they do is in tools/setup and in xtask/.

# A cargo installed for one user is found also where a login shell has not put it on the path.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help setup report check test build bench wheel dist book clean

help:  ## list these targets
	@sed -n 's/^\([a-z]*\): .*## /make \1\t/p' Makefile | expand -t 14

setup:  ## install what building and testing need (on Debian), and nothing that is there
	@tools/setup test

report:  ## measure this machine for ten seconds and write report.html
	@tools/setup report
	cargo build --release --locked --workspace --bin swtch
	target/release/swtch measure --quick
	target/release/swtch report -o report.html
	@echo "The report is $(CURDIR)/report.html, and the measurement is this machine's Profile."
	@echo "The command is $(CURDIR)/target/release/swtch; to have it on PATH: export PATH=\"\$$PATH:$(CURDIR)/target/release\""

check:  ## what to run before every commit: formats, lints, unit tests, quick tests of the command
	@tools/setup test
	cargo --locked xtask check

test:  ## run every check and test, with one closing summary
	@tools/setup test
	cargo --locked xtask test

build:  ## build everything, optimised
	@tools/setup report
	cargo build --release --locked --workspace

bench:  ## run the full benchmarks
	@tools/setup report
	cargo --locked xtask bench

wheel:  ## build the Python wheel into target/wheels
	@tools/setup wheel
	cargo --locked xtask wheel

dist:  ## build what users install (static programs, .deb, wheels, image; x86-64 and aarch64; static ones for riscv64) into dist/
	@tools/setup dist
	cargo --locked xtask dist

book:  ## build the book into target/book
	@tools/setup book
	cargo --locked xtask book

clean:  ## remove everything that was built, and the Python environment
	cargo clean
	rm -rf .venv
