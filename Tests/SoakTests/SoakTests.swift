import Glibc
import Soak
import TestSupport
import Testing

/// The short form of `benchmarks SENSORHUB soak`, for the part of a month that SENSORHUB_SOAK specifies. With a
/// release executable, which SENSORHUB_PROGRAM may name, a twentieth takes two minutes. With a debug executable it
/// takes longer.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SoakTests {
  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  @Test func `a month's events leave nothing behind, and cost no more than in a new hub`() throws {
    var bounds = Soak.Bounds()
    // Next to other programs CPU times are imprecise, but memory, descriptors and threads are not.
    bounds.cpuGrowth = 1
    // The address sanitizer keeps freed memory, makes frames larger, and searches for leaks before the process ends.
    if SoakTests.variable("SENSORHUB_SANITIZED") != nil {
      bounds.memoryBytes = nil
      bounds.stackShare = nil
      bounds.end = .seconds(20)
    }
    let scale = SoakTests.variable("SENSORHUB_SOAK").flatMap(Double.init) ?? 0.001
    let report = try Soak(executable: Program.sensorhub, scale: scale, bounds: bounds).run()
    print(report.table)
    #expect(report.problems.isEmpty, "\(report.table)")
    // All phases have been examined.
    #expect(report.rows.map(\.phase) == Phase.allCases)
    if bounds.stackShare != nil { #expect(report.stacks.count >= 7, "\(report.table)") }
  }
}
