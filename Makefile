# The two commands: make run, make test. Both install missing packages first. make test-all is everything that
# continuous integration runs.

BENCH := Tests/HardwareInTheLoopTests/Bench

# The parts to leave out by name (.ci/parts). Names may be separated by spaces or commas.
comma := ,
export SKIP ?=
LEFT_OUT := $(subst $(comma), ,$(SKIP))
# DiskBytesTests requires a separate file system (CONTRIBUTING.md), on which it takes forty minutes of real time.
# ConformanceFilesTests requires the MCAP project's files.
SWIFT_FAST_TESTS := --skip HardwareInTheLoopTests.HardwareInTheLoop --skip SoakTests --skip EndToEndTests --skip TunnelTests --skip ConsistencyTests \
  --skip PythonTests --skip DiskBytesTests $(if $(SENSORHUB_MCAP_CONFORMANCE),,--skip ConformanceFilesTests)
SWIFT_SLOW_TESTS := --filter EndToEndTests --filter TunnelTests --filter ConsistencyTests --filter PythonTests \
  $(if $(filter home-assistant,$(LEFT_OUT)),--skip EndToEndTests.HomeAssistantTests)
# lld, if the toolchain has it, makes the executable two megabytes smaller and faster to start. Packed relocations
# require glibc 2.36 or newer, as in bookworm. Identical code is merged, except for functions whose addresses may be
# compared, and so are the ends of equal strings (-O2).
TOOLCHAIN := $(shell swift -print-target-info 2>/dev/null | sed -n 's|.*"runtimeResourcePath" *: *"\(.*\)/lib/swift".*|\1|p')
LLD := $(wildcard $(TOOLCHAIN)/bin/ld.lld)
LINK := $(if $(LLD),-Xswiftc -Xclang-linker -Xswiftc -fuse-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker -O2)
# The same commit produces the same bytes in any folder: no paths, and no names that are hashes of data removed later.
SCRATCH = $(shell .ci/scratch .build)
REPRODUCIBLE = --scratch-path $(SCRATCH) -Xswiftc -file-prefix-map -Xswiftc $(SCRATCH)=.build -Xcc -ffile-prefix-map=$(SCRATCH)=.build \
  -Xswiftc -file-prefix-map -Xswiftc '$(CURDIR)=.' -Xcc '-ffile-prefix-map=$(CURDIR)=.' -Xlinker --build-id=none
# Optimized across modules: generic code is specialized, and a fix reaches its clients a quarter faster. Optimized for
# size: a twentieth smaller, because Package.swift exempts the code that must be fast.
OPTIMIZE := -Xswiftc -cross-module-optimization -Xswiftc -Osize
# Without tables for unwinding the stack, a release is an eighth smaller. No code throws C++ exceptions or cancels
# threads, backtraces follow frame pointers, and a debugger finds the tables among the debug information. The second
# option is for functions in C headers: a file that contains one of them with a table would keep all its tables.
TABLE_FREE := -Xswiftc -Xllvm -Xswiftc -force-attribute=nounwind -Xcc -fno-asynchronous-unwind-tables
# The commit that --version of a release prints.
COMMIT := $(shell git describe --always --dirty --abbrev=12 2>/dev/null)
BUILD_RELEASE = SENSORHUB_COMMIT=$(COMMIT) swift build -c release --static-swift-stdlib $(OPTIMIZE) $(TABLE_FREE) $(LINK) $(REPRODUCIBLE) --product
RELEASE = $(BUILD_RELEASE) sensorhub
# The executable for a 64-bit Raspberry Pi, as built by deploy.sh.
CROSS = .ci/build-for trixie arm64
# An index for editors takes a quarter of a debug build's time, and editors make their own (.build/index-build).
DEBUG_BUILD := swift build --disable-index-store
# Sanitizers slow timers down, so the tests that start programs are left out of their runs and of their builds.
BESIDE_PROGRAMS := HardwareInTheLoopTests EndToEndTests
# These modules have only one thread, and do more than half of the arithmetic of all tests.
SINGLE_THREADED := MCAPTests FusionTests NMEATests UBXTests
# These modules use no pointers, and do most of that arithmetic.
POINTER_FREE := FusionTests
# Whole modules are compiled at once, which is a sixth less work if everything is compiled anyway.
BUILD_SANITIZED = SENSORHUB_WITHOUT='$(BESIDE_PROGRAMS) $(2)' $(DEBUG_BUILD) --build-tests --sanitize=$(1) --scratch-path .build-$(1) \
  -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 1
# A sanitizer's own locks make threads wait for each other, so it takes more tests at a time to keep a processor busy.
SANITIZED = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16 SENSORHUB_TEST_THREADS=32 .ci/swift-test .build-$(1) $(SWIFT_FAST_TESTS)

# This number of parallel tests keeps two cores busy. With three hundred parallel tests, a test that waits ten times would wait
# for all other tests each time. Tests block their threads, so the pool must have more threads than that (Tests/CTestThreads).
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := 8
export SENSORHUB_TEST_THREADS := 16
# Most of the tests' time is spent in a few modules, which are optimized (Package.swift).
export SENSORHUB_QUICK := 1

# A twentieth of a month's events, and fewer under a sanitizer.
SOAK := --filter SoakTests

.PHONY: run check test test-one test-rest test-all test-fast test-programs test-release test-soak test-package test-libraries test-image test-addon test-bench test-threads \
  test-addresses test-cross test-sleep setup fetch release deb dist docs image addon lint format benchmark virtual-devices bench hil sdk test-arm64 clean help \
  build-tests build-release build-cross build-threads build-addresses build-bench dist-all image-pi test-apt-repository test-image-pi

help: ## Show this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: setup ## Build and run the hub on the simulated board
	$(RELEASE)
	@.build/release/sensorhub run --simulated

check: lint test-fast ## Check formatting, build, and run the fast tests: a few minutes, before each commit

test: setup ## Build once, and run lint, the fast tests and the tests that start programs
	@.ci/parts 'build-tests test-fast' \
	  'lint||1|formatting, and what a compiler does not see' \
	  'fetch||1|the programs of others that the tests need' \
	  'test-programs|build-tests|4|the tests that start programs: the hub, its clients, a browser, Home Assistant' \
	  'test-fast|build-tests|0|the tests that start no program, at the same time'

# One lane builds; the other, which waits most of the time, begins as soon as it has what it needs.
test-rest: setup ## Run what make test leaves to make test-all
	@.ci/parts 'build-release build-cross build-threads build-addresses test-addresses; build-bench test-bench test-soak' \
	  'test-release|build-release|1|the release executable: its size, and that it runs' \
	  'test-cross|build-cross|1|the executable for a 64-bit Raspberry Pi, as deploy.sh builds it, under emulation' \
	  'test-package|build-release|2|the Debian package: what is in it, lintian, manual pages, completions' \
	  'test-libraries|build-release|2|the Swift libraries: their pages, and a package of another that depends on them' \
	  'test-image|build-release|1|the image of a container: what is in it, and that it runs' \
	  'test-addon||1|the app for Home Assistant: its configuration, by the facts of its documents' \
	  'test-apt-repository||2|the apt repository: on both Debians apt installs, updates, and refuses what was changed' \
	  'test-image-pi||1|the image of a card: what is written, what is refused, and the first start' \
	  'test-threads|build-threads|15|the fast tests that have threads, under the thread sanitizer' \
	  'test-addresses|build-addresses|8|the fast tests that have pointers, under the address sanitizer' \
	  'test-soak|build-release|4|how the release executable takes a twentieth of a month' \
	  'test-bench|build-release build-cross build-bench|10|power, buses and faults, on a kernel of its own and on an emulated Raspberry Pi, at the same time'

test-all: ## Run everything that continuous integration runs
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

test-one: build-tests ## Build, and run the tests whose names match: make test-one FILTER=PortTests
	.ci/swift-test .build --filter '$(or $(FILTER),$(error the name of a test or a suite is missing: make test-one FILTER=PortTests))'

# A part builds its prerequisites, unless .ci/parts has built it already: make PART BUILT=1.
build-tests: setup
	$(if $(BUILT),@:,$(DEBUG_BUILD) --build-tests)

build-release: release

build-cross: release
	$(if $(BUILT),@:,$(CROSS))

build-threads: setup
	$(if $(BUILT),@:,$(call BUILD_SANITIZED,thread,$(SINGLE_THREADED)))

build-addresses: setup
	$(if $(BUILT),@:,$(call BUILD_SANITIZED,address,$(POINTER_FREE)))

build-bench: setup
	$(if $(BUILT),@:,$(BENCH)/kernel)
	$(if $(BUILT),@:,.ci/left-out pi || $(BENCH)/pi --build)

fetch: setup
	@.ci/packages gpsd gpsd-clients python3-gps tmux chromium chromium-driver nginx-light curl iproute2 systemd \
	  gpsbabel libxml2-utils mosquitto mosquitto-clients libmosquitto1 openssl zstd lz4 dbus avahi-daemon avahi-utils \
	  python3-dbus python3-gi
	@flock .ci/test-tools .ci/test-tools
	@.ci/left-out home-assistant || flock .ci/home-assistant .ci/home-assistant
	@.ci/check-recordings

# The tests that start programs take longest and often wait, so the fast tests beside them give way to them.
test-fast: build-tests fetch
	.ci/check-gpiod-2
	.ci/check-benchmarks
	nice -n 5 .ci/swift-test .build $(SWIFT_FAST_TESTS)

test-programs: build-tests fetch
	.ci/swift-test .build $(SWIFT_SLOW_TESTS)

test-release: build-release
	@.ci/check-release .build/release/sensorhub

test-soak: release build-tests
	SENSORHUB_PROGRAM='$(CURDIR)/.build/release/sensorhub' SENSORHUB_SOAK=0.05 .ci/swift-test .build $(SOAK)

test-package: release
	.ci/check-deb "$$(.ci/deb)"

test-libraries: docs
	.ci/check-libraries

test-image: release
	.ci/check-image "$$(.ci/image)"

test-addon:
	@.ci/packages python3 python3-yaml
	.ci/check-addon

test-apt-repository:
	.ci/check-apt-repository $(REPOSITORY)

test-image-pi:
	.ci/check-image-pi

test-bench: build-release build-bench
	$(BENCH)/hil --small

test-threads: build-threads fetch
	$(call SANITIZED,thread)

test-addresses: build-addresses fetch
	$(call SANITIZED,address)
	SENSORHUB_SANITIZED=1 SENSORHUB_SOAK=0.001 .ci/swift-test .build-address $(SOAK)

test-cross: build-cross
	.ci/check-cross

test-sleep: release ## Measure the hub on an emulated machine that suspends and powers off: three quarters of an hour on a machine that does little else
	$(BENCH)/sleeping-machine .build/release/sensorhub

setup:
	@.ci/setup

release: setup ## Build the static release executable
	$(if $(BUILT),@:,$(RELEASE))

deb: release ## Build the Debian package; for another Debian than this one: make deb FOR='trixie arm64'
	@.ci/deb $(FOR)

dist: release ## Pack a release folder, to be unpacked and run; for another Debian than this one: make dist FOR='trixie arm64'
	@.ci/dist $(FOR)

dist-all: release ## Build all that a release publishes: packages, release folders, SBOMs, checksums, an apt repository (ADDRESS=https://…)
	@.ci/dist-all $(if $(ADDRESS),--address '$(ADDRESS)') $(if $(KEY_FOLDER),--key-folder '$(KEY_FOLDER)')

image: release ## Build the image of a container; for another Debian or processor: make image FOR='trixie arm64'
	@.ci/image $(FOR)

addon: release ## Make the folder of an app for Home Assistant; for a Raspberry Pi: make addon FOR='trixie arm64'
	@.ci/addon $(if $(FOR),'$(FOR)')

image-pi: ## Write the hub into a card's image: make image-pi IMAGE=FILE BOARD=FILE KEY=FILE.pub
	@.ci/image-pi $(foreach file,$(PACKAGE),--package '$(file)') $(if $(LOGIN),--user '$(LOGIN)') $(if $(OUTPUT),--output '$(OUTPUT)') \
	  '$(IMAGE)' '$(BOARD)' '$(KEY)'

docs: setup ## Make the pages of the Swift libraries, into .build/docs
	$(foreach library,Publishing NMEA UBX MCAP Fusion,$(DEBUG_BUILD) --target $(library) &&) .ci/docs

lint: setup
	@.ci/packages shellcheck python3
	shellcheck deploy.sh systemd/activate systemd/sensorhub-generator packaging/debian/sensorhub.p* packaging/card/first-boot Tests/Fuzzing/fuzz Benchmarks/mqtt/guest-init $(filter-out %.cpp %/run-by-loader %/references %/check-addon,$(wildcard .ci/*)) $(filter-out %.config %/i2c-relay %/suspend %/emulated-pi,$(wildcard $(BENCH)/*)) $(BENCH)/suspend/image $(addprefix $(BENCH)/emulated-pi/,image emulator packages card-image)
	.ci/check-closures
	.ci/check-c-structs
	.ci/check-links
	.ci/references
	.ci/check-english
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks

format: ## Format the sources
	swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks

virtual-devices: setup # simulates the virtual board's peripherals; built with the same options, so that neither build invalidates the other
	$(if $(BUILT),@:,$(BUILD_RELEASE) virtual-devices)

bench: setup ## Build the virtual bench, a kernel and two Debians, into the cache
	$(BENCH)/kernel
	$(BENCH)/debian-tree trixie
	$(BENCH)/debian-tree bookworm

hil: setup ## Run the hardware-in-the-loop suite on the virtual bench, or with TARGET=user@host WIRING=FILE on a real board
	$(BENCH)/hil $(TARGET) $(WIRING)

sdk: ## Build what it takes to compile for a 64-bit Raspberry Pi, into the cache; for another Debian: make sdk FOR='bookworm arm64'
	.ci/sdk $(or $(FOR),trixie arm64)

test-arm64: setup sdk ## Run the unit tests for a 64-bit Raspberry Pi, under emulation
	.ci/test-arm64

benchmark: release ## Measure speed, allocations and wake-ups
	cd Benchmarks && swift build -c release && .build/release/benchmarks ../.build/release/sensorhub

clean: ## Remove everything that was built
	rm -rf .build .build-* Benchmarks/.build
