import Glibc
import Soak
import TestSupport
import Testing

/// The short form of `benchmarks SENSORHUB soak`: the part of a month that SENSORHUB_SOAK says. A release executable, which
/// SENSORHUB_PROGRAM may name, lives through a twentieth in two minutes; one that was built for debugging takes its time.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SoakTests {
  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  @Test func `a month's events leave no trace, and none costs more than in a young hub`() throws {
    var bounds = Soak.Bounds()
    // Beside other programs times are rough; memory, descriptors and threads are not.
    bounds.cpuGrowth = 1
    // The address sanitizer keeps what is freed, makes frames larger, and looks for leaks before the process ends.
    if SoakTests.variable("SENSORHUB_SANITIZED") != nil {
      bounds.memoryBytes = nil
      bounds.stackShare = nil
      bounds.end = .seconds(20)
    }
    let scale = SoakTests.variable("SENSORHUB_SOAK").flatMap(Double.init) ?? 0.001
    let report = try Soak(executable: Program.sensorhub, scale: scale, bounds: bounds).run()
    print(report.table)
    #expect(report.problems.isEmpty, "\(report.table)")
    // All of it has been looked at.
    #expect(report.rows.map(\.phase) == Phase.allCases)
    if bounds.stackShare != nil { #expect(report.stacks.count >= 7, "\(report.table)") }
  }
}
