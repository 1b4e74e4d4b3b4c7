import Fusion
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing

/// A hub's connection to a bus of NMEA 2000. Its thread holds the socket, runs the node, and sends the waiting
/// messages.
///
/// The thread sleeps until the kernel has a claim or a request for it, a message must be sent, or the next heartbeat is
/// due. Other threads only put messages into the queue.
final class NMEA2000Link: PeerLink {
  /// Opens a bus by the name of its interface.
  typealias Opener = @Sendable (_ interface: String) throws(HardwareError) -> any CANSocket

  private struct State {
    var node: NMEA2000Node?
    var report = NMEA2000Report()
    /// The waiting messages, each with its frames. The queue is short, so that no value is old when it is sent.
    var queue = BoundedQueue<[CANFrame]>(limit: NMEA2000Link.frameLimit)
    var sequence: UInt8 = 0
    /// The number of messages that were dropped since the last report to `traffic`.
    var dropped = 0

    mutating func append(_ messages: [NMEA2000Message]) {
      guard let address = node?.address else { return }
      for message in messages {
        if message.isFastPacket { sequence &+= 1 }
        let frames = message.frames(from: address, sequence: sequence)
        dropped += queue.append(frames, size: frames.count)
      }
    }
  }

  /// The maximum number of waiting frames. A bus takes about two in a millisecond.
  private static let frameLimit = 64
  private static let firstPause = Duration.milliseconds(5)
  private static let longestPause = Duration.seconds(1)
  /// A bus that accepts no frame for this time counts as silent. All waiting values are then dropped, because they
  /// would look new when the bus works again.
  static let usualPatience = Duration.seconds(5)
  /// The interval at which the hub tries a silent bus. A device that is switched on claims its address, and then the
  /// hub tries at once.
  private static let silencePause = Duration.seconds(60)

  private let port: Board.NMEA2000Port
  private let version: String
  private let traffic: OutputTraffic.Kind
  private let sink: JournalSink
  private let open: Opener
  private let patience: Duration
  private let stop = StopSignal()
  private let wake = WakeSignal()
  private let state = Guarded(State())

  init(
    _ port: Board.NMEA2000Port, version: String, traffic: OutputTraffic.Kind, sink: JournalSink,
    patience: Duration, open: @escaping Opener
  ) {
    self.patience = patience
    self.port = port
    self.version = version
    self.traffic = traffic
    self.sink = sink
    self.open = open
  }

  func start() {
    let error = DetachedThread.start("nmea2000") { [self] in run() }
    if error != 0 { sink.write(.warning, "NMEA 2000: cannot start a thread for \(port.interface)") }
  }

  func end() { stop.set() }

  /// Puts the messages of a state into the queue, if the hub has an address. Without one, the hub looks for a free one.
  func send(_ fused: FusedState) {
    let (isWaiting, dropped) = state.withLock { state in
      guard state.node?.isClaimed == true else {
        guard let request = state.node?.askForAddresses(at: MonotonicClock().now) else { return (false, 0) }
        state.append([request])
        return (true, 0)
      }
      let messages = state.report.messages(of: fused)
      state.append(messages)
      defer { state.dropped = 0 }
      return (!messages.isEmpty, state.dropped)
    }
    if dropped > 0 { traffic.valuesDropped(dropped) }
    if isWaiting { wake.raise() }
  }

  private func run() {
    let poller = Poller(stop: stop.fileDescriptor)
    var backoff = ReconnectBackoff()
    var lastProblem = ""
    while !stop.isSet {
      do throws(HardwareError) {
        let socket = try open(port.interface)
        try serve(socket, poller) {
          backoff.reset()
          lastProblem = ""
        }
      } catch {
        let problem = "\(error)"
        if problem != lastProblem { sink.write(.warning, "NMEA 2000: \(problem); the hub tries again") }
        lastProblem = problem
      }
      rest()
      _ = poller.wait(for: nil, atMost: backoff.next())
    }
  }

  /// Serves the bus until the thread must stop.
  ///
  /// - Parameter claimed: called when the hub has got its address
  private func serve(
    _ socket: any CANSocket, _ poller: Poller, claimed: () -> Void
  ) throws(HardwareError) {
    let clock = MonotonicClock()
    begin(at: clock.now)
    var known: UInt8?
    var pause = NMEA2000Link.firstPause
    var unsent: ArraySlice<CANFrame> = []
    var blockedSince: MonotonicInstant?
    var isSilent = false
    while true {
      while let frame = try socket.receive() { if take(frame, at: clock.now) { unsent = [] } }
      let (deadline, address) = elapse(to: clock.now)
      // The node has its address only once the bus has accepted the claim.
      if let address, address != known, blockedSince == nil {
        if address == NMEA2000Message.noAddress {
          sink.write(
            .warning,
            "NMEA 2000: all addresses of \(port.interface) are taken; the hub looks for a free one every minute while it "
              + "has values")
        } else {
          sink.write(.notice, "NMEA 2000: values go to \(port.interface) from address \(address)")
          claimed()
        }
        known = address
      }
      let (isFlushed, hasSent) = try flush(socket, &unsent)
      if isFlushed || hasSent { (pause, blockedSince, isSilent) = (NMEA2000Link.firstPause, nil, false) }
      let since = isFlushed ? nil : blockedSince ?? clock.now
      blockedSince = since
      if isFlushed {
        let limit = deadline.map { max(.zero, $0 - clock.now) }
        if poller.wait(for: socket.fileDescriptor, or: wake, atMost: limit) == .stopped { return }
      } else if let since, clock.now - since >= patience {
        if !isSilent { sink.write(.warning, "NMEA 2000: \(silence)") }
        isSilent = true
        rest()
        let event = poller.wait(for: socket.fileDescriptor, atMost: NMEA2000Link.silencePause)
        if event == .stopped { return }
        if event == .readable { blockedSince = nil }
        (unsent, known, pause) = ([], nil, NMEA2000Link.firstPause)
        begin(at: clock.now)
      } else {
        // If no device acknowledges the first frame, the controller repeats it for ever, so the hub waits longer each
        // time.
        if poller.wait(for: nil, atMost: pause) == .stopped { return }
        pause = min(pause * 2, NMEA2000Link.longestPause)
      }
    }
  }

  private var silence: HardwareError {
    .unheard(
      "no device on \(port.interface) acknowledges frames",
      nextStep: "switch the bus on, or check its wires and the bit rate: ip -details link show \(port.interface)")
  }

  /// Forgets the node and its waiting messages.
  private func rest() {
    state.withLock { state in
      state.node = nil
      state.queue.removeAll()
    }
  }

  private func begin(at now: MonotonicInstant) {
    state.withLock { state in
      let name = NMEA2000Name.own
      let product = NMEA2000Node.product(version: version, name)
      let node = NMEA2000Node(name, claiming: port.address, product: product, at: now)
      state.node = node
      state.queue.removeAll()
      state.append([node.claim])
    }
  }

  /// - Returns: whether the address has changed, so that no frame from the old one may be sent any more
  private func take(_ frame: CANFrame, at now: MonotonicInstant) -> Bool {
    state.withLock { state in
      let before = state.node?.address
      let answers = state.node?.receive(frame, at: now) ?? []
      let isNew = state.node?.address != before
      if isNew { state.queue.removeAll() }
      state.append(answers)
      return isNew
    }
  }

  /// Queues the node's messages that are due.
  ///
  /// - Returns: when the next message is due; and the address, 254 for none, or `nil` while it is being claimed
  private func elapse(to now: MonotonicInstant) -> (MonotonicInstant?, UInt8?) {
    state.withLock { state in
      let due = state.node?.elapse(to: now) ?? []
      state.append(due)
      guard let node = state.node else { return (nil, nil) }
      return (node.deadline, node.isClaimed || node.isDefeated ? node.address : nil)
    }
  }

  /// Sends the waiting messages.
  ///
  /// - Parameter unsent: the frames of the message that is being sent
  /// - Returns: whether all messages were sent, `false` if the interface accepts no more at present; and whether the
  ///   interface has accepted a frame
  private func flush(
    _ socket: any CANSocket, _ unsent: inout ArraySlice<CANFrame>
  ) throws(HardwareError) -> (isFlushed: Bool, hasSent: Bool) {
    var hasSent = false
    while true {
      if unsent.isEmpty {
        guard let next = state.withLock({ $0.queue.popFirst() }) else { return (true, hasSent) }
        unsent = next[...]
      }
      while let frame = unsent.first {
        guard try socket.send(frame) else { return (false, hasSent) }
        hasSent = true
        unsent = unsent.dropFirst()
      }
    }
  }
}
