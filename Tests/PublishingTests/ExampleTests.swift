import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

/// The examples of the library's pages (`Examples`) behave as the pages describe.
@Suite(.timeLimit(.minutes(10)))
struct ExampleTests {
  /// A thermometer with readings from the test.
  private final class PlayedThermometer: Thermometer {
    let power = Recorder<Bool>()
    private let readings = Guarded<[Double?]>([])

    func switchPower(on: Bool) { power.append(on) }

    /// - Parameter reading: `nil` for a thermometer that is unplugged
    func play(_ reading: Double?) { readings.withLock { $0.append(reading) } }

    func nextReading(_ stop: StopSignal) throws(ThermometerError) -> Double? {
      hold { stop.isSet || readings.withLock { !$0.isEmpty } }
      if stop.isSet { return nil }
      guard let reading = readings.withLock({ $0.removeFirst() }) else { throw .unplugged }
      return reading
    }
  }

  private let clock = ManualClock()
  private let thermometer = PlayedThermometer()

  @Test func `the example shows readings at its interval and powers the thermometer only in the meantime`() async {
    let celsius = readings(of: thermometer, clock: clock)
    let shown = Recorder<String>()
    let display = show(celsius, clock: clock) { shown.append($0) }
    thermometer.play(3.5)
    #expect(await shown.first(1) == ["3.5 °C"])
    // A later subscriber receives a reading after the display does.
    let heard = Recorder<Double>()
    let listener = celsius.subscribe(as: "listener", receiveValue: { heard.append($0) }, receiveCompletion: { _ in })
    thermometer.play(3)
    thermometer.play(2.5)
    _ = await heard.values { $0.contains(2.5) }
    listener.cancel()
    clock.advance(by: .seconds(10))
    #expect(await shown.first(2) == ["3.5 °C", "2.5 °C"])
    display.cancel()
    #expect(thermometer.power.values == [true])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await thermometer.power.first(2) == [true, false])
  }

  @Test func `the example keeps waiting for frost after a failure`() async {
    let celsius = readings(of: thermometer, clock: clock)
    let shown = Recorder<String>()
    let display = show(celsius, clock: clock) { shown.append($0) }
    let waiting = Task { [clock] in await frost(celsius, clock: clock) }
    for await activity in celsius.activity.values(as: "test") where activity.subscriberCount == 2 { break }
    #expect(celsius.holders == ["display", "frost"])
    thermometer.play(1)
    thermometer.play(nil)
    #expect(await shown.first(2) == ["1.0 °C", "no thermometer"])
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    thermometer.play(-0.5)
    #expect(await waiting.value == -0.5)
    await clock.sleepers(1)
    clock.advance(by: .seconds(1))
    #expect(await thermometer.power.first(4) == [true, false, true, false])
    display.cancel()
  }

  @Test func `the difference powers both thermometers for its subscribers, and reading its value powers neither`() async
  {
    let other = PlayedThermometer()
    let both = difference(indoors: readings(of: thermometer, clock: clock), outdoors: readings(of: other, clock: clock))
    let latest = LatestDifference()
    #expect(latest.value.value == nil)
    #expect(thermometer.power.values.isEmpty && other.power.values.isEmpty)
    let following = latest.follow(both, as: "display")
    thermometer.play(21.5)
    other.play(1.5)
    for await value in latest.value.values(as: "test") where value == 20 { break }
    #expect(thermometer.power.values == [true] && other.power.values == [true])
    following.cancel()
    await clock.sleepers(2)
    clock.advance(by: .seconds(1))
    #expect(await thermometer.power.first(2) == [true, false])
    #expect(await other.power.first(2) == [true, false])
    #expect(latest.value.value == 20)
  }

  @Test func `the documentation shows the examples as they are compiled`() {
    let pages = LibraryPages(of: "Publishing")
    #expect(pages.shown == pages.compiled)
    #expect(pages.shown.count == 2)
  }
}
