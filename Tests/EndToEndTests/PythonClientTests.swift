import Glibc
import TestSupport
import Testing

/// The Python client (`Clients/python`): its own tests against real hubs, its types, and its installation by pip.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PythonClientTests {
  private static let package = "\(SharedData.packageFolder)/Clients/python"

  /// Runs a script in a copy of the package, because Python and pip leave files where they run.
  private func run(_ script: String, _ arguments: [String] = [], environment: [String] = []) -> Program {
    let folder = TemporaryFolder("python")
    let program = Program(
      ["-ec", "cp -r '\(PythonClientTests.package)/.' \"$0\"; cd \"$0\"; \(script)", folder.path] + arguments,
      path: "/bin/sh", environment: environment)
    // There are about fifty tests that start hubs, so this takes longer than other programs.
    program.wait(within: .seconds(540))
    return program
  }

  @Test(arguments: [
    "test_framing", "test_decoding", "test_request", "test_place", "test_conversation", "test_persistence",
    "test_description", "test_clients", "test_hub", "test_async_hub",
  ])
  func `the Python client passes its tests against a real hub`(_ module: String) {
    let program = run(
      "python3 -X dev -m unittest -v \"tests.$1\"", [module],
      environment: [
        "PYTHONPATH=src", "SENSORHUB_PROGRAM=\(Program.sensorhub)", "SENSORHUB_CHECKOUT=\(SharedData.packageFolder)",
      ])
    #expect(program.wait() == 0, "\(program.standardError)")
    // Unittest counts a run without tests, or with only skipped ones, as a success.
    #expect(program.standardError.contains(" ... ok\n"), "\(program.standardError)")
    #expect(!program.standardError.contains("skipped"), "\(program.standardError)")
    #expect(!program.standardError.contains("ResourceWarning"), "\(program.standardError)")
  }

  @Test func `the type annotations of the Python client, its tests and its examples are correct`() throws {
    let tools = try #require(TestTools.path("python-tools"), ".ci/test-tools fetches mypy")
    let program = run(
      "python3 -m mypy --strict src tests examples", environment: ["PYTHONPATH=\(tools)", "NO_COLOR=1"])
    #expect(program.wait() == 0, "\(program.standardOutput)\(program.standardError)")
    #expect(program.standardOutput.contains("no issues found"), "\(program.standardOutput)")
  }

  @Test func `pip installs the Python client with its types and nothing else`() throws {
    let tools = try #require(TestTools.path("python-tools"), ".ci/test-tools fetches setuptools")
    let program = run(
      """
      python3 -m pip install -q --disable-pip-version-check --no-build-isolation --no-index --target installed . >&2
      ls installed
      ls installed/sensorhub_client/py.typed
      cd / && PYTHONPATH="$OLDPWD/installed" python3 -c 'import sensorhub_client as s; print(s.__version__, *s.__all__)'
      """, environment: ["PYTHONPATH=\(tools)", "PIP_ROOT_USER_ACTION=ignore"])
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(
      program.lines.prefix(3) == [
        "sensorhub_client", "sensorhub_client-0.2.0.dist-info", "installed/sensorhub_client/py.typed",
      ], "\(program.standardOutput)")
    #expect(program.lines.last?.hasPrefix("0.2.0 ") == true, "\(program.standardOutput)\(program.standardError)")
  }
}
