import HardwareIO

/// A receiver of satellites' signals that sends NMEA 0183.
public struct ReceiverDescription: Equatable, Sendable {
  /// The name that the board file gives it.
  public var id: String
  /// The tty.
  public var port: String
  /// `nil` to find out.
  public var speed: BaudRate?
  public var power: Board.Power
  /// Where the kernel has the receiver's pulse at the beginning of each second, such as `/dev/pps0`.
  public var pulse: String?
  /// The antenna as seen from the IMU: forward, right, down, metres.
  public var leverArmMetres: SIMD3<Double>
  /// From the instant that a fix is valid for until its first byte arrives.
  public var fixLatency: Duration

  /// Whether it is read in the same way, wherever it sits.
  func isRead(like other: ReceiverDescription) -> Bool {
    (id, port, speed, power.ofReader) == (other.id, other.port, other.speed, other.power.ofReader)
  }
}

extension ReceiverDescription {
  init(_ id: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    self.id = id
    port = try section.required("port")
    if let number = try section.integer("speed", in: 4800...921_600) {
      guard let speed = BaudRate(rawValue: number) else {
        throw section.wrong(
          "speed", expected: "one of " + BaudRate.allCases.map { "\($0.rawValue)" }.joined(separator: ", "))
      }
      self.speed = speed
    }
    pulse = try section.string("pps")
    leverArmMetres = try section.vector("leverArmMetres") ?? .zero
    fixLatency =
      try section.number("fixLatencyMilliseconds", in: 0...400).map { .nanoseconds(Int64($0 * 1e6)) } ?? .zero
    // A receiver that is not told to sleep works on.
    power = try Board.Power(section.section("power"), typicalMilliamperes: 40, standbyMilliamperes: nil)
    try section.finish()
  }
}
