import HardwareIO
import MonotonicTime

/// Puts a receiver to sleep outside a session, when only its configuration is known.
public struct SleepAttempt {
  /// Fewer bytes than this do not count as noise, because opening a line may produce one or two.
  private static let leastNoise = 16

  private let configuration: ReceiverConfiguration

  public init(_ configuration: ReceiverConfiguration) { self.configuration = configuration }

  /// Puts the receiver to sleep. If the line is silent, the receiver sleeps already or is missing, and the function
  /// does nothing.
  public func perform(on port: any SerialPort, clock: any MonotonicTimeSource) throws(HardwareError) {
    guard configuration.sleepsSupplied else { return }
    let receiver = SerialReceiver(port: port, poller: Poller(stop: -1), clock: clock)
    let likely = configuration.likelySpeeds
    let expected = likely.isEmpty ? Array(SerialReceiver.usualSpeeds.prefix(3)) : likely
    for speed in expected + SerialReceiver.usualSpeeds.filter({ !expected.contains($0) }) {
      // At a wrong speed, the bytes of a receiver arrive as noise. If there was no noise, no receiver sends at the
      // other speeds.
      if !expected.contains(speed), receiver.byteCount < SleepAttempt.leastNoise { return }
      guard try receiver.listen(at: speed, for: SerialReceiver.shortestListeningTime, { _ in }) == .heard else {
        continue
      }
      return try putToSleep(CommandChannel(receiver, speed: speed, receive: { _ in }))
    }
    if receiver.byteCount >= SleepAttempt.leastNoise {
      throw .unexpectedDevice("\(port.name) has noise at every speed, so its receiver cannot be put to sleep")
    }
  }

  private func putToSleep(_ channel: CommandChannel) throws(HardwareError) {
    guard let known = try configuration.driver.identify(channel),
      let rest = configuration.rest ?? known.driver.deepestSleep(isSwitched: configuration.isSwitched),
      known.driver.sleeps(isSwitched: configuration.isSwitched).contains(rest)
    else {
      throw .unexpectedDevice("the receiver on \(channel.portName) does not answer, so it cannot be put to sleep")
    }
    guard try known.fallAsleep(rest, channel, configuration.settings) else {
      throw .unexpectedDevice("the receiver on \(channel.portName) was told to sleep, but keeps sending")
    }
  }
}
