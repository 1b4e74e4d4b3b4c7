import Devices
import Fusion
import Hub
import MonotonicTime
import NMEA

/// The present position, which a new client receives at once. The next epoch may be seconds away, and the client must
/// not take the pause for a loss of the fix.
struct GPSDGreeting {
  private enum Source {
    case state(FusedState, reception: GNSSObservation?)
    case epoch(GNSSObservation)
  }

  private let source: Source
  private let device: String

  /// `nil` if no recent position is known.
  init?(with positions: GPSDStreams.Positions, of output: GPSDOutput) {
    switch positions {
    case .receiver(let receiver):
      guard let epoch = output.latestEpoch(of: receiver.id) else { return nil }
      source = .epoch(epoch)
      device = receiver.path
    case .states:
      device = output.device
      let epoch = output.hub.receivers.taken.flatMap { output.latestEpoch(of: $0.description.id) }
      if let fused = output.presentState, fused.position != nil || fused.fix != nil {
        source = .state(fused, reception: epoch)
      } else if let epoch {
        // Until now the receiver was awake only for its sentences, so there is no fused state.
        source = .epoch(epoch)
      } else {
        return nil
      }
    }
  }

  /// The UTC time of the position, by which the feed recognises the position and does not send it again.
  var time: UTCTime? {
    switch source {
    case .state(let fused, _): fused.positionTime
    case .epoch(let epoch): epoch.fix.time
    }
  }

  var instant: MonotonicInstant {
    switch source {
    case .state(let fused, _): fused.at
    case .epoch(let epoch): epoch.at
    }
  }

  /// Writes the position as a `TPV`.
  func write(to json: inout JSONWriter) {
    switch source {
    case .state(let fused, let epoch):
      GPSDReport.writePositionObject(fused, reception: epoch, device: device, to: &json)
    case .epoch(let epoch): GPSDReport.writePositionObject(epoch.fix, device: device, to: &json)
    }
    json.endLine()
  }
}
