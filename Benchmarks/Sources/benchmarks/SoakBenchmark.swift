import Glibc
import Soak

/// The events of a month, and a check whether the hub has changed afterwards.
struct SoakBenchmark {
  let executable: String
  /// `--scale 0.05` for a twentieth of a month, and the names of phases to run only those.
  let arguments: [String]

  func run() -> Never {
    var scale = 1.0
    var phases: [Phase] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--scale", let value = rest.popFirst().flatMap(Double.init), value > 0 {
        scale = value
      } else if let phase = Phase(rawValue: argument) {
        phases.append(phase)
      } else {
        print("soak [--scale PART] [\(Phase.allCases.map(\.rawValue).joined(separator: " | "))]...")
        exit(64)
      }
    }
    do {
      let soak = Soak(
        executable: executable, scale: scale, phases: phases.isEmpty ? Phase.allCases : phases,
        say: {
          print($0)
          // Shows the progress also through a pipe.
          fflush(nil)
        })
      let report = try soak.run()
      print(report.table)
      for problem in report.problems { print("broken: \(problem)") }
      exit(report.problems.isEmpty ? 0 : 1)
    } catch {
      print("broken: \(error)")
      exit(1)
    }
  }
}
