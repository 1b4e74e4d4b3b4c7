import HardwareIO
import Testing

@testable import Devices

/// The speeds at which a receiver is searched, and the bytes that are sent to it first.
struct ReceiverSearchPlanTests {
  private typealias Attempt = ReceiverSearchPlan.Attempt

  /// The bytes that wake a u-blox receiver from its backup mode.
  private let wakingBytes = [UInt8](repeating: 0xFF, count: 8)

  /// The knowledge about a receiver that was changed from 9600 to 115200 baud.
  private var known: ReceiverMemory.Contents {
    var known = ReceiverMemory.Contents()
    (known.firstSpeed, known.lastSpeed) = (.b9600, .b115200)
    return known
  }

  @Test func `the speed without settings is tried first, then the last one and those of the board file, each once`() {
    var configuration = ReceiverConfiguration(driver: .ublox, speed: .b38400)
    configuration.settings.speed = .b115200
    let plan = ReceiverSearchPlan(configuration, known, asleep: nil)
    #expect(plan.attempts == [Attempt(speeds: [.b9600, .b115200, .b38400])])
    #expect(plan.fallback == .usualSpeeds)
  }

  @Test func `a sleeping receiver is woken twice, and then searched as usual`() {
    let plan = ReceiverSearchPlan(ReceiverConfiguration(driver: .ublox, sleep: .backup), known, asleep: .backup)
    let call = Attempt(speeds: [.b9600, .b115200], wakingBytes: wakingBytes)
    #expect(plan.attempts == [call, call, Attempt(speeds: [.b9600, .b115200])])
    #expect(plan.fallback == .usualSpeeds)
  }

  @Test func `a sleeping receiver that does not wake loses its supply, if the hub can switch it`() {
    let configuration = ReceiverConfiguration(driver: .ublox, sleep: .backup, isSwitched: true)
    let plan = ReceiverSearchPlan(configuration, known, asleep: .backup)
    #expect(plan.attempts.map(\.wakingBytes) == [wakingBytes, wakingBytes])
    #expect(plan.fallback == .staysAsleep(.backup))
  }

  @Test func `a receiver that an earlier hub may have left asleep is woken at few speeds`() {
    let configuration = ReceiverConfiguration(driver: .ublox, sleep: .backup)
    let plan = ReceiverSearchPlan(configuration, ReceiverMemory.Contents(), asleep: nil)
    let call = Attempt(speeds: [.b9600, .b38400, .b115200], wakingBytes: configuration.wakingBytes)
    #expect(plan.attempts == [call, Attempt(speeds: [])])
  }

  @Test func `a restarted receiver is first expected at its speed before the restart`() {
    let plan = ReceiverSearchPlan(ReceiverConfiguration(driver: .ublox), known, restartedAt: .b115200)
    #expect(plan.attempts == [Attempt(speeds: [.b115200, .b9600])] && plan.fallback == .usualSpeeds)
  }

  @Test func `a receiver from Unicore that sends nothing is asked at all speeds`() {
    let question = Array("\r\nVERSIONA\r\n\r\n$VERSIONA*1B\r\n".utf8)
    let configuration = ReceiverConfiguration(driver: .unicore)
    for plan in [
      ReceiverSearchPlan(configuration, ReceiverMemory.Contents(), asleep: nil),
      ReceiverSearchPlan(configuration, ReceiverMemory.Contents(), restartedAt: .b115200),
    ] {
      #expect(plan.attempts.map(\.wakingBytes) == [[], question, question])
      #expect(plan.attempts[0].speeds == [.b115200] && plan.attempts[2].speeds == [.b115200])
      #expect(plan.attempts[1].speeds.first == .b115200)
      #expect(Set(plan.attempts[1].speeds) == Set(SerialReceiver.usualSpeeds))
    }
  }
}
