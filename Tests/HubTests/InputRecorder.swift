import Devices
import Fusion
import MonotonicTime
import TestSupport

@testable import Hub

/// Records the inputs with their instants.
struct InputRecorder: HubRecorder {
  let inputs = Recorder<(input: FusionInput, at: MonotonicInstant)>()

  func sentences(of id: String) -> @Sendable (ReceivedBytes) -> Void { { _ in } }

  func inputs(on board: Board) -> @Sendable (FusionInput, MonotonicInstant) -> Void {
    { [inputs] in inputs.append(($0, $1)) }
  }

  var air: [(pascals: Double, at: MonotonicInstant)] {
    inputs.values.compactMap { if case .air(_, let sample) = $0.input { (sample.pressurePascals, $0.at) } else { nil } }
  }

  var epochs: [(epochAt: MonotonicInstant, at: MonotonicInstant)] {
    inputs.values.compactMap { if case .epoch(_, let epoch) = $0.input { (epoch.at, $0.at) } else { nil } }
  }
}

extension FusionInput {
  /// The kind of input, in one word.
  var name: String {
    switch self {
    case .begin: "begin"
    case .end: "end"
    case .expiry: "expiry"
    case .epoch: "epoch"
    case .imu: "imu"
    case .field: "field"
    case .air: "air"
    case .supply: "supply"
    }
  }
}
