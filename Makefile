# The two commands: make run, make test. Both install what is missing first.

SWIFT_FAST_TESTS := --skip EndToEndTests --skip TunnelTests --skip ConsistencyTests
SWIFT_SLOW_TESTS := --filter EndToEndTests --filter TunnelTests --filter ConsistencyTests
# lld, where the toolchain has it, makes the executable two megabytes smaller and quicker to start. Packed relocations
# need glibc 2.36, that is bookworm.
LLD := $(wildcard $(dir $(realpath $(shell command -v swift)))ld.lld)
LINK := $(if $(LLD),-Xswiftc -Xclang-linker -Xswiftc -fuse-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic)
RELEASE := swift build -c release --static-swift-stdlib --product sensorhub $(LINK)
# XCTest's own runner, which would find no tests, leaks; sanitizers slow timers down, so the tests that start programs are left out of their runs.
SANITIZE = swift test --disable-xctest --sanitize=$(1) --scratch-path .build-$(1) $(SWIFT_FAST_TESTS)

.PHONY: run test setup release lint format benchmark clean help

help: ## Show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: setup ## Build and run the hub on the simulated board
	$(RELEASE)
	@.build/release/sensorhub run

test: setup lint ## Run everything that continuous integration runs
	.ci/check-gpiod-2
	swift build --build-tests
	swift test --disable-xctest --skip-build $(SWIFT_FAST_TESTS)
	swift test --disable-xctest --skip-build $(SWIFT_SLOW_TESTS)
	$(call SANITIZE,thread)
	$(call SANITIZE,address)
	$(RELEASE)
	@.ci/check-release .build/release/sensorhub

setup:
	@.ci/setup

release: setup ## Build the static release executable
	$(RELEASE)

lint: setup
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks

format: ## Format the sources
	swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

benchmark: release ## Measure speed, allocations and wake-ups
	cd Benchmarks && swift build -c release && .build/release/benchmarks ../.build/release/sensorhub

clean: ## Remove everything that was built
	rm -rf .build .build-* Benchmarks/.build
