import Devices
import Guarding
import HardwareIO
import MonotonicTime

/// A chip that can wait for motion, and its line.
struct WakeOnMotionChip: Sendable {
  enum End {
    case stopped
    /// The reader needs the chip.
    case wanted
  }

  private let wakeOnMotion: WakeOnMotion
  private let line: GPIOLineName
  private let place: I2CAddress
  private let falls: Bool
  private let machine: Machine
  /// A chip that has reported no motion for this long is read, because a chip without supply is silent too.
  var longestSilence = Duration.seconds(300)

  var milliamperes: Double { wakeOnMotion.milliamperes }

  init?(_ description: IMUDescription, on machine: Machine) {
    guard let wakeOnMotion = description.chip.wakeOnMotion, let line = description.dataReady else { return nil }
    self.wakeOnMotion = wakeOnMotion
    self.line = line
    place = description.place
    falls = description.chip.dataReadyFalls
    self.machine = machine
  }

  /// Makes the chip wait for motion until the poller is told to stop, or the reader needs the chip. The chip sleeps on
  /// every exit path.
  ///
  /// - Parameter tell: called when the chip waits, at its first motion after that, and when it was read after the
  ///   motion
  func wait(
    _ poller: Poller, _ arbiter: ChipArbiter, _ tell: (MotionState) -> Void
  ) throws(HardwareError) -> End {
    let clock = machine.clock
    let edges = try machine.hardware.gpioEdges(line, falling: falls)
    defer { edges.close() }
    let bus = try machine.hardware.i2cBus(place.bus)
    try bus.claim(place.address)
    let driver = wakeOnMotion.driver(
      ChipConnection(
        bus: bus, address: place.address, clock: clock, pause: { poller.pause($0) }))
    defer { driver.stop() }
    try driver.start()
    var isStill = true
    tell(.still(since: clock.now))
    while true {
      // After a motion, the chip reports nothing more until its client asks, so it is not read.
      let event = poller.wait(
        for: edges.fileDescriptor, or: arbiter.news.fileDescriptor, atMost: isStill ? longestSilence : nil)
      if event == .stopped { return .stopped }
      let (mustEnd, isQuestioned) = arbiter.takeNews()
      if let edge = try edges.takeEdges()?.latest, isStill {
        isStill = false
        tell(.moved(at: edge.at))
      }
      if mustEnd {
        // The board counts as still while the reader takes the chip over. Report a motion even if its edge has not
        // arrived.
        if isStill, try driver.takeMotion() { tell(.moved(at: clock.now)) }
        return .wanted
      }
      guard isQuestioned || event == .timedOut else { continue }
      let wasStill = isStill
      // The line's edge may have been lost, but the chip still reports the motion.
      isStill = try !driver.takeMotion() || !wasStill
      if isStill != wasStill { tell(isStill ? .still(since: clock.now) : .moved(at: clock.now)) }
    }
  }
}
