import Hub

/// The streams of the hub that a client of the gpsd protocol needs, according to its watch and the board.
///
/// `GPSDFeed` compares them with the streams that it holds, so a new watch interrupts no stream that both watches need:
///
/// ```swift
/// let (begun, ended) = GPSDStreams(of: watch, on: board).change(from: held)
/// ```
struct GPSDStreams: Equatable {
  enum Stream: Equatable {
    /// The changes of all devices. They wake no device.
    case devices
    /// The fused states. They wake the devices that measure these parts.
    case states(parts: Set<StatePart>)
    /// The attitudes, at a rate in hertz; `nil` for the board's own rate.
    case attitudes(rateHz: Double?)
    /// The epochs of one receiver, even if the fused state uses another one.
    case epochs(of: Receiver)
    /// The output of the receiver with an ID; `nil` for the selected receiver.
    case sentences(of: String?)
    /// The differences between the system clock and the receiver's time.
    case clockOffsets
  }

  struct Receiver: Equatable {
    /// The receiver's ID in the hub.
    var id: String
    /// The receiver's name in the protocol.
    var path: String
  }

  /// The source of the positions that the client receives.
  enum Positions: Equatable {
    /// The fused states. The attitude follows each position, unless it has a stream of its own.
    case states(includesAttitude: Bool)
    /// The epochs of one of several receivers.
    case receiver(Receiver)
  }

  /// The source of the client's positions; `nil` if the client receives none. Only a client that receives positions is
  /// told when there are none.
  private(set) var positions: Positions?
  /// The streams, in the order in which they begin. The devices come first, so that the client receives a report of
  /// each device that wakes for it.
  private(set) var all: [Stream] = []

  /// The streams of a client without a watch: none.
  init() {}

  init(of watch: GPSDWatch, on board: Board) {
    let receivers = board.candidateReceivers.map { Receiver(id: $0.id, path: GPSDLimits.path($0.port)) }
    let named = receivers.first { $0.path == watch.device }
    // An IMU has no positions and no sentences, so a watch of the IMU must not wake the receiver.
    let isOfIMU = watch.device != nil && named == nil
    // If the only receiver is fused, the state contains more than that receiver's values.
    let isState = receivers.count == 1 && board.fusedDevices.contains(receivers[0].id)
    let receiver = isState ? nil : named
    let hasAttitudesWithEpochs = watch.attitudeRateHz == nil && !receivers.isEmpty
    // Any watch must notice when a reload removes its receiver or gives it another one.
    if watch.isEnabled { all.append(.devices) }
    if watch.wantsReports {
      if let receiver {
        positions = .receiver(receiver)
      } else if !isOfIMU {
        positions = .states(includesAttitude: watch.device == nil && hasAttitudesWithEpochs)
      }
    }
    switch positions {
    case .states: all.append(.states(parts: board.gpsdParts))
    case .receiver(let receiver): all.append(.epochs(of: receiver))
    case nil: if watch.isForPolling { all.append(.states(parts: board.gpsdParts)) }
    }
    if watch.wantsReports, isOfIMU || watch.device == nil && !hasAttitudesWithEpochs {
      all.append(.attitudes(rateHz: watch.attitudeRateHz))
    }
    if watch.wantsSentences, !isOfIMU { all.append(.sentences(of: receiver?.id)) }
    if watch.wantsOffsets { all.append(.clockOffsets) }
  }

  /// The streams that a client with the streams `held` must begin and end, so that it has exactly these streams.
  func change(from held: [Stream]) -> (begun: [Stream], ended: [Stream]) {
    (all.filter { !held.contains($0) }, held.filter { !all.contains($0) })
  }
}
