import Testing

/// The entry point of the tests. The package manager would generate one, but it finds the tests of XCTest with an index
/// of all sources, which takes a quarter of a build, and there are no such tests.
@main struct TestProgram {
  static func main() async {
    // Without the name of a library, the package manager asks for the tests of XCTest.
    guard CommandLine.arguments.contains("swift-testing") else { return }
    await Testing.__swiftPMEntryPoint() as Never
  }
}
