# The doors to this project. Each target installs what it needs from Debian's packages (scripts/install-deps.sh).
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo build test asan tsan fuzz lint format docs clean

JOBS ?= $(shell nproc)

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build  ## one Qwen3-30B-A3B expert layer, end to end: write, inspect, plan, run, check
	@scripts/demo.sh

build:  ## the tool, at build/release/tilewright
	@scripts/install-deps.sh build
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS)

test:  ## build and run every test
	@scripts/install-deps.sh test
	@cmake --preset test
	@cmake --build --preset test -j $(JOBS)
	@ctest --preset test -j $(JOBS)

asan:  ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-deps.sh test
	@cmake --preset asan
	@cmake --build --preset asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)

tsan:  ## the tests under ThreadSanitizer
	@scripts/install-deps.sh test
	@scripts/without-aslr.sh cmake --preset tsan
	@scripts/without-aslr.sh cmake --build --preset tsan -j $(JOBS)
	@scripts/without-aslr.sh ctest --preset tsan -j $(JOBS)

fuzz:  ## every libFuzzer target for FUZZ_SECONDS (20) seconds
	@scripts/install-deps.sh ci
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@scripts/fuzz.sh build/fuzz

lint:  ## clang-format, clang-tidy and the generated pages
	@scripts/install-deps.sh ci
	@cmake --preset test
	@scripts/lint.sh build/test

format:  ## rewrite every source file with clang-format
	@scripts/install-deps.sh ci
	@git ls-files '*.hpp' '*.cpp' '*.h' | xargs clang-format -i

docs: build  ## rewrite docs/performance.md and docs/kernels/sm120-prediction.md from bench/results
	@python3 scripts/performance_doc.py
	@python3 scripts/sm120_doc.py build/release/tilewright

clean:  ## remove build/ and demo/
	@rm -rf build demo
