// swift-tools-version: 6.2
// Feeds libFuzzer's inputs to the parsers of foreign bytes. This is not part of the package: `fuzz` builds and runs it.

import PackageDescription

let package = Package(
  name: "Fuzzing",
  dependencies: [
    .package(name: "SensorHub", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    .target(name: "CLibFuzzer"),
    .target(
      name: "FuzzTargets",
      dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "Hub", package: "SensorHub"), .product(name: "MCAP", package: "SensorHub"),
        .product(name: "NMEA", package: "SensorHub"),
        .product(name: "Outputs", package: "SensorHub"), .product(name: "Publishing", package: "SensorHub"),
        .product(name: "UBX", package: "SensorHub"),
      ],
      path: "Targets"),
    .executableTarget(
      name: "fuzzing",
      dependencies: ["CLibFuzzer", "FuzzTargets"],
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-Xclang-linker", "-fuse-ld=lld"])]),
  ]
)
