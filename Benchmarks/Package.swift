// swift-tools-version: 6.2
// Measures the figures in the README and the issues. It is a separate package, so that users of SensorHub do not
// build it.

import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "SensorHub", path: "..")],
  targets: [
    .target(name: "CAllocations"),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "CAllocations",
        .product(name: "Fusion", package: "SensorHub"), .product(name: "NMEA", package: "SensorHub"),
        .product(name: "Publishing", package: "SensorHub"),
        .product(name: "Hub", package: "SensorHub"), .product(name: "HardwareIO", package: "SensorHub"),
        .product(name: "Simulation", package: "SensorHub"), .product(name: "UBX", package: "SensorHub"),
        .product(name: "Journeys", package: "SensorHub"), .product(name: "Soak", package: "SensorHub"),
      ]),
  ]
)
