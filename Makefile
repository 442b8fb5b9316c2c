# Thin: every target sets up what it needs (a fraction of a second when that is done) and calls one command.
PYTHON ?= python3
SLUICEWAY = .venv/bin/sluiceway
NODE = .sluiceway/bin/node

.PHONY: help setup up test test-all test-export check fix bench bench-edge bench-gateway bench-pipeline bench-publish bench-rollout local-stop clean
.DEFAULT_GOAL := help

help: ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## virtual environment, Node packages, engine
	@$(PYTHON) scripts/bootstrap.py

up: setup ## start the local stage and bring it up: ends with a URL
	@$(SLUICEWAY) up local

test: setup ## the tests, in minutes
	@scripts/test.sh

test-all: setup ## the tests, and those marked long, as CI runs them
	@scripts/test.sh --all

test-export: setup ## exports by torch, which is installed into the cache (3 GB)
	@.venv/bin/python -m tests.export
	@SLUICEWAY_TEST_EXPORT=1 .venv/bin/pytest -n 2 $(addprefix tests/export/test_,smollm2.py architectures.py loading.py)

check: setup ## style, types, import contracts
	@scripts/check.sh

fix: setup ## format, and mend what can be mended
	@.venv/bin/ruff check --fix . ; .venv/bin/ruff format . && $(NODE) node_modules/@biomejs/biome/bin/biome check --write .

bench: up ## the performance claims, measured here
	@.venv/bin/python -m bench

bench-edge: setup ## hybrid routing: right how often, what it adds, what it saves
	@.venv/bin/python -m bench.edge

bench-gateway: setup ## the gateway beside a bare Worker, Portkey's and LiteLLM's
	@.venv/bin/python -m bench.gateway

bench-pipeline: setup ## small models beside onnxruntime-genai's builder, optimum and a published one
	@.venv/bin/python -m bench.pipeline

bench-publish: up ## 1 GB to R2 beside a plain boto3 upload; killed in the middle
	@.venv/bin/python -m bench.publish

bench-rollout: setup ## the gates of a rollout beside Flagger's and Argo's rules, and live
	@.venv/bin/python -m bench.rollout --live

local-stop: ## stop the local stage
	@test ! -x $(SLUICEWAY) || $(SLUICEWAY) local stop

clean: local-stop ## remove what set-up and the local stage made in this checkout
	rm -rf .venv node_modules .sluiceway
