# The two commands: make run, make test. Both install what is missing first.

BENCH := Tests/HardwareInTheLoopTests/Bench

SWIFT_FAST_TESTS := --skip HardwareInTheLoopTests --skip EndToEndTests --skip TunnelTests --skip ConsistencyTests
SWIFT_SLOW_TESTS := --filter EndToEndTests --filter TunnelTests --filter ConsistencyTests
# lld, where the toolchain has it, makes the executable two megabytes smaller and quicker to start. Packed relocations
# need glibc 2.36, that is bookworm.
LLD := $(wildcard $(dir $(realpath $(shell command -v swift)))ld.lld)
LINK := $(if $(LLD),-Xswiftc -Xclang-linker -Xswiftc -fuse-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic)
# Across modules: what is generic is made for its types, and a fix is at its clients a quarter sooner.
BUILD_RELEASE := swift build -c release --static-swift-stdlib -Xswiftc -cross-module-optimization $(LINK) --product
RELEASE := $(BUILD_RELEASE) sensorhub
# XCTest's own runner, which would find no tests, leaks; sanitizers slow timers down, so the tests that start programs are left out of their runs.
SANITIZE = swift test --disable-xctest --sanitize=$(1) --scratch-path .build-$(1) $(SWIFT_FAST_TESTS)

.PHONY: run test setup release lint format benchmark virtual-devices bench hil sdk test-arm64 clean help

help: ## Show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: setup ## Build and run the hub on the simulated board
	$(RELEASE)
	@.build/release/sensorhub run

test: setup lint ## Run everything that continuous integration runs
	.ci/check-gpiod-2
	swift build --build-tests
	swift test --disable-xctest --skip-build $(SWIFT_FAST_TESTS)
	@.ci/packages gpsd gpsd-clients python3-gps tmux chromium chromium-driver
	@.ci/test-tools
	swift test --disable-xctest --skip-build $(SWIFT_SLOW_TESTS)
	$(RELEASE)
	@.ci/check-release .build/release/sensorhub
	$(BENCH)/hil --small || [ $$? -eq 69 ]
	$(call SANITIZE,thread)
	$(call SANITIZE,address)
	.ci/test-arm64 --cached

setup:
	@.ci/setup

release: setup ## Build the static release executable
	$(RELEASE)

lint: setup
	@.ci/packages shellcheck
	shellcheck deploy.sh systemd/activate .ci/* $(filter-out %.config %/i2c-relay,$(wildcard $(BENCH)/*))
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks

format: ## Format the sources
	swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

virtual-devices: setup # what plays the virtual board's peripherals; built like the rest, so that neither rebuilds the other
	$(BUILD_RELEASE) virtual-devices

bench: setup ## Build the virtual bench, a kernel and two Debians, into the cache
	$(BENCH)/kernel
	$(BENCH)/debian-tree trixie
	$(BENCH)/debian-tree bookworm

hil: setup ## Run the hardware-in-the-loop suite on the virtual bench, or with TARGET=user@host WIRING=FILE on a real board
	$(BENCH)/hil $(TARGET) $(WIRING)

sdk: ## Build what it takes to compile for a 64-bit Raspberry Pi, into the cache
	.ci/sdk trixie arm64

test-arm64: setup sdk ## Run the unit tests for a 64-bit Raspberry Pi, under emulation
	.ci/test-arm64

benchmark: release ## Measure speed, allocations and wake-ups
	cd Benchmarks && swift build -c release && .build/release/benchmarks ../.build/release/sensorhub

clean: ## Remove everything that was built
	rm -rf .build .build-* Benchmarks/.build
