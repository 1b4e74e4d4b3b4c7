// swift-tools-version: 6.2
// SensorHub: GPS and IMU of a Linux single-board computer as one fused stream, powered only while a client
// subscribes.

import PackageDescription

let strict: [SwiftSetting] =
  [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ] + typeChecked(withinScopes: 100_000)

/// The modules that parse external input. The fuzzer (`Tests/Fuzzing`) must observe the paths its inputs take through
/// them. Instrumenting all modules, including third-party ones, would take longer than running them.
let isFuzzed = Context.environment["SENSORHUB_FUZZING"] != nil
let fuzzed =
  strict + (isFuzzed ? [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing", "-assert-config", "Debug"])] : [])

/// The commit of a release build (`make release`). Characters that cannot be part of a commit's name are removed.
let commit = Context.environment["SENSORHUB_COMMIT"].map { name in
  name.filter { $0.isLetter || $0.isNumber || "-.".contains($0) }
}

/// A release is optimized for size (`make release`), except for the code that processes each byte of a receiver and
/// each sample. Packages that depend on a library of this package choose their own optimization.
let fast: [SwiftSetting] = commit == nil ? [] : [.unsafeFlags(["-Xfrontend", "-O"])]

/// The tests spend most of their time in a few modules, so those are optimized (in `make check` and the targets after
/// it). Without this, a debugger shows the modules as written.
let computing: [SwiftSetting] =
  Context.environment["SENSORHUB_QUICK"] == nil ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// In `make check`, an expression for which the type checker tries more than this many combinations is an error. Ten
/// thousand take about a tenth of a second. The limit is a count and not a time, so that it does not depend on the
/// machine.
func typeChecked(withinScopes limit: Int) -> [SwiftSetting] {
  if Context.environment["SENSORHUB_QUICK"] == nil { return [] }
  return [.unsafeFlags(["-Xfrontend", "-solver-scope-threshold=\(limit)"], .when(configuration: .debug))]
}

/// Targets that a build leaves out, by name, separated by spaces. A sanitizer build leaves out tests that do not run
/// under it.
let leftOut = Set((Context.environment["SENSORHUB_WITHOUT"] ?? "").split(separator: " ").map(String.init))

let package = Package(
  name: "SensorHub",
  products: [
    .executable(name: "sensorhub", targets: ["sensorhub"]),
    .library(name: "Publishing", targets: ["Publishing", "Guarding", "MonotonicTime"]),
    .library(name: "NMEA", targets: ["NMEA"]),
    .library(name: "UBX", targets: ["UBX"]),
    .library(name: "MCAP", targets: ["MCAP"]),
    .library(name: "Fusion", targets: ["Fusion"]),
    .library(name: "HardwareIO", targets: ["HardwareIO"]),
    .library(name: "Hub", targets: ["Hub"]),
    .library(name: "Outputs", targets: ["Outputs"]),
    .library(name: "Simulation", targets: ["Simulation"]),
    .library(name: "Soak", targets: ["Soak"]),
    .library(name: "Journeys", targets: ["Journeys"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .target(name: "CLinux"),
    .target(
      name: "Guarding", dependencies: ["CLinux", .product(name: "DequeModule", package: "swift-collections")],
      swiftSettings: strict + fast),
    .target(name: "MonotonicTime", dependencies: ["CLinux", "Guarding"], swiftSettings: strict + fast),
    .target(
      name: "Publishing",
      dependencies: [
        "CLinux", "Guarding", "MonotonicTime", .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: strict + fast),
    // A separate target, because it is compiled again for each commit.
    .target(
      name: "CBuild", cSettings: commit.map { [.define("SENSORHUB_COMMIT", to: "\"\($0)\"")] } ?? []),
    // Linked statically, because a stock Raspberry Pi OS has no libi2c.so.0.
    .target(name: "CI2C", linkerSettings: [.linkedLibrary(":libi2c.a")]),
    .target(name: "CGPIOD", linkerSettings: [.linkedLibrary("gpiod")]),
    .target(
      name: "HardwareIO", dependencies: ["CGPIOD", "CI2C", "CLinux", "CSystemd", "Guarding", "MonotonicTime"],
      swiftSettings: strict + fast
    ),
    .target(name: "UBX", swiftSettings: fuzzed + fast + computing),
    .target(name: "NMEA", dependencies: ["UBX"], swiftSettings: fuzzed + fast + computing),
    .target(name: "MCAP", swiftSettings: fuzzed + computing),
    .target(
      name: "Devices", dependencies: ["HardwareIO", "MonotonicTime", "NMEA", "UBX"], swiftSettings: strict + fast),
    .target(name: "Fusion", dependencies: ["MonotonicTime"], swiftSettings: strict + fast + computing),
    .target(
      name: "Simulation",
      dependencies: ["CLinux", "Devices", "Fusion", "Guarding", "HardwareIO", "MonotonicTime", "NMEA"],
      swiftSettings: strict + computing),
    .target(
      name: "Hub",
      dependencies: [
        "CLinux", "Devices", "Fusion", "Guarding", "HardwareIO", "MonotonicTime", "NMEA", "Publishing", "UBX",
      ],
      swiftSettings: fuzzed + fast),
    .target(
      name: "Recording",
      dependencies: [
        "CLinux", "Devices", "Fusion", "Guarding", "HardwareIO", "Hub", "MCAP", "MonotonicTime", "NMEA", "Publishing",
      ],
      swiftSettings: strict),
    // These two load their libraries on first use.
    .target(name: "CMosquitto", dependencies: ["CLinux"]),
    .target(name: "CTLS", dependencies: ["CLinux"]),
    .target(name: "CSystemd", linkerSettings: [.linkedLibrary("systemd")]),
    .target(name: "CEmbeddedFiles"),
    .target(
      name: "Outputs",
      dependencies: [
        "CEmbeddedFiles", "CLinux", "CMosquitto", "CSystemd", "CTLS", "Devices", "Fusion", "Guarding", "HardwareIO",
        "Hub", "MCAP",
        "MonotonicTime",
        "NMEA", "UBX", "Publishing", "Recording",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      // CEmbeddedFiles contains these.
      exclude: ["Fleet/Page", "HTTP/Dashboard", "HTTP/grafana.json", "HTTP/openapi.yaml"],
      swiftSettings: fuzzed),
    .executableTarget(
      name: "sensorhub",
      dependencies: [
        "CBuild",
        "CLinux", "Devices", "Fusion", "Guarding", "HardwareIO", "Hub", "MCAP", "MonotonicTime", "NMEA", "Outputs",
        "Publishing", "Recording", "Simulation", "UBX",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      resources: [.embedInCode("simulated.json5")],
      swiftSettings: strict),

    .target(name: "CTestThreads", path: "Tests/CTestThreads"),
    .target(
      name: "TestSupport",
      dependencies: ["CLinux", "CTestThreads", "Guarding", "HardwareIO", "MonotonicTime", "Publishing"],
      path: "Tests/TestSupport",
      swiftSettings: strict),
    .target(
      name: "Soak", dependencies: ["CLinux", "Guarding", "HardwareIO", "MonotonicTime", "TestSupport"],
      path: "Tests/Soak", swiftSettings: strict),
    // Journeys with known truth, for the tests and for the benchmark of error-bounded positions.
    .target(
      name: "Journeys",
      dependencies: ["Devices", "Fusion", "HardwareIO", "Hub", "MonotonicTime", "TestSupport"],
      path: "Tests/Journeys", swiftSettings: strict + computing),
    // The package in this folder compiles the targets again and links them with libFuzzer.
    .testTarget(
      name: "FuzzingTests",
      dependencies: [
        "HardwareIO", "Hub", "MCAP", "NMEA", "Outputs", "Publishing", "TestSupport", "UBX",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
      ],
      path: "Tests/Fuzzing", exclude: ["Corpora", "Dictionaries", "Package.swift", "Sources", "fuzz"],
      sources: ["SeedTests.swift", "Targets"], swiftSettings: strict),
    .target(
      name: "VirtualBench",
      dependencies: ["Guarding", "HardwareIO", "MonotonicTime", "Simulation"],
      path: "Tests/VirtualBench", swiftSettings: strict),
    .executableTarget(
      name: "virtual-devices", dependencies: ["VirtualBench"],
      path: "Tests/virtual-devices", swiftSettings: strict),
    .testTarget(
      name: "HardwareInTheLoopTests",
      dependencies: [
        "CLinux", "Devices", "Guarding", "HardwareIO", "Hub", "MonotonicTime", "Simulation", "TestSupport",
        "VirtualBench", "sensorhub",
      ],
      exclude: ["Bench"], swiftSettings: strict),
    .testTarget(
      name: "HardwareIOTests", dependencies: ["CLinux", "Guarding", "HardwareIO", "MonotonicTime", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "DevicesTests",
      dependencies: ["Devices", "Guarding", "HardwareIO", "MonotonicTime", "NMEA", "Simulation", "TestSupport"],
      exclude: ["spoken.py"], swiftSettings: strict),
    .testTarget(
      name: "SimulationTests",
      dependencies: ["Devices", "HardwareIO", "MonotonicTime", "Simulation", "TestSupport"], exclude: ["dialogue.py"],
      swiftSettings: strict),
    .testTarget(
      name: "FusionTests", dependencies: ["Fusion", "MonotonicTime", "Simulation", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "HubTests",
      dependencies: [
        "Devices", "Fusion", "HardwareIO", "Hub", "Journeys", "MonotonicTime", "NMEA", "Publishing", "Simulation",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "CLinux", "Fusion", "HardwareIO", "MCAP", "MonotonicTime", "Outputs", "Simulation", "TestSupport", "sensorhub",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["modemmanager.py", "silent-modemmanager.py"], swiftSettings: strict),
    .testTarget(name: "SoakTests", dependencies: ["Soak", "TestSupport", "sensorhub"], swiftSettings: strict),
    .testTarget(
      name: "MonotonicTimeTests",
      dependencies: ["Guarding", "HardwareIO", "MonotonicTime", "Publishing", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "MCAPTests", dependencies: ["Guarding", "MCAP", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "NMEATests", dependencies: ["NMEA", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "UBXTests", dependencies: ["TestSupport", "UBX"], swiftSettings: strict),
    .testTarget(
      name: "OutputsTests",
      dependencies: [
        "CLinux", "Fusion", "Guarding", "HardwareIO", "Hub", "MCAP", "MonotonicTime", "Outputs", "Publishing",
        "Recording", "Simulation", "TestSupport",
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "PublishingTests", dependencies: ["CLinux", "Guarding", "MonotonicTime", "Publishing", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "RecordingTests",
      dependencies: [
        "Devices", "Guarding", "HardwareIO", "Hub", "MCAP", "MonotonicTime", "NMEA", "Publishing", "Recording",
        "TestSupport",
      ],
      swiftSettings: strict),
  ]
)

package.targets.removeAll { leftOut.contains($0.name) }
