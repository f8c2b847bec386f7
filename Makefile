# Everything between a fresh Debian or Ubuntu machine and a running test suite.

BIN := .venv/bin
SHELL_SCRIPTS := $(wildcard lib/*/*.sh) .ci/run

# What a quick run leaves out; tests/conftest.py says what the markers mean.
QUICK := not docker and not e2e and not soak
ENGINE := (docker or e2e) and not soak

# Behind a proxy that signs with its own authority the system's bundle is the one that works, and
# cspace passes what SSL_CERT_FILE names into the image.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export SSL_CERT_FILE ?= /etc/ssl/certs/ca-certificates.crt
endif

.PHONY: help venv model engine base mcp-tools demo check lint quick tools test engine-tests soak bench docs wheel clean
.DEFAULT_GOAL := help

help: ## List these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

venv: .venv/ready ## Create .venv with cspace and its development tools

.venv/ready: pyproject.toml
	@lib/bootstrap/venv.sh

model: .venv/ready ## Fetch what finds memories by their meaning into ~/.cache (84 MB, once)
	@lib/bootstrap/model.sh

engine: ## Install and start a Docker Engine where none answers
	@lib/bootstrap/engine.sh

base: engine ## Pull or build the image that every instance starts from
	@lib/bootstrap/base-image.sh

demo: base venv ## Two instances in a sample repository, sharing one decision
	@lib/bootstrap/demo.sh

check: lint quick ## Format, lint, types, layers, shellcheck, tests without Docker

test: check engine-tests ## Everything that CI runs: checks, and every kind of test

lint: tools .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	shellcheck --external-sources $(SHELL_SCRIPTS)

quick: tools model .venv/ready
	$(BIN)/python -m pytest --numprocesses=2 -m "$(QUICK)"

tools:
	@bash -c '. lib/bootstrap/apt.sh && ensure_commands shellcheck shellcheck gh gh' tools

# What the e2e tests need from npm, once for each set of versions.
mcp-tools:
	@lib/bootstrap/mcp-tools.sh >/dev/null

engine-tests: tools base mcp-tools model .venv/ready
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile -m "$(ENGINE)"

soak: tools base mcp-tools model .venv/ready ## Every test with its full counts (hours)
	CSPACE_SOAK=1 $(BIN)/python -m pytest -m ""

bench: base model .venv/ready ## Measure what the README claims
	$(BIN)/python -m bench.cli
	$(BIN)/python -m bench.context
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.notes
	$(BIN)/python -m bench.notes_recall
	$(BIN)/python -m bench.up
	$(BIN)/python -m bench.fleet
	$(BIN)/python -m bench.down
	$(BIN)/python -m bench.hooks
	$(BIN)/python -m bench.migrate
	$(BIN)/python -m bench.recall
	$(BIN)/python -m bench.embedder

docs: .venv/ready ## Write docs/reference anew from the code
	$(BIN)/python -m docs.generate

wheel: .venv/ready ## Build the wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation

clean: ## Remove what these targets made in this directory
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
