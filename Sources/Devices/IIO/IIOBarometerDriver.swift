import HardwareIO
import MonotonicTime

/// Reads a barometer through its kernel driver, one value at a time, because a few values a second are enough.
final class IIOBarometerDriver: PolledDriver {
  private struct Values {
    var pressure: IIOValue
    var temperature: IIOValue
    var humidity: IIOValue?
  }

  private let name: IIODeviceName
  private let connection: ChipConnection
  private let configuration: PolledConfiguration
  private var values: Values?
  private var changes: IIOChanges?
  private var repetition = IIORepetition<SIMD2<Double>>()

  init(_ name: IIODeviceName, _ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.name = name
    self.connection = connection
    self.configuration = configuration
  }

  deinit { stop() }

  func start() throws(HardwareError) {
    stop()
    let system = IIOBus.system(of: connection.bus)
    let device = try IIODevice.find(name, in: system)
    guard let pressure = try IIOValue(device, channel: "in_pressure") else {
      throw .unexpectedDevice("\(device) measures no pressure")
    }
    guard let temperature = try IIOValue(device, channel: "in_temp") else {
      throw .unsupported("\(device) measures no temperature")
    }
    let humidity = try IIOValue(device, channel: "in_humidityrelative")
    var changed = IIOChanges(system.files)
    do throws(HardwareError) {
      for channel in ["in_pressure", "in_temp"] {
        _ = try device.setRate(of: channel, to: configuration.rateHz, &changed)
      }
    } catch {
      changed.revert()
      throw error
    }
    changes = changed
    repetition = IIORepetition()
    values = Values(pressure: pressure, temperature: temperature, humidity: humidity)
  }

  func read() throws(HardwareError) -> BarometerSample? {
    guard let values else { return nil }
    let before = connection.clock.now
    let (kilopascals, millidegrees) = (try values.pressure.read(), try values.temperature.read())
    let at = before + (connection.clock.now - before) / 2
    let thousandths = try values.humidity?.read()
    guard repetition.isFresh(SIMD2(kilopascals, millidegrees)) else { return nil }
    return BarometerSample(
      goodAt: at, pressurePascals: kilopascals * 1000, temperatureCelsius: millidegrees / 1000,
      humidityPercent: thousandths.map { $0 / 1000 })
  }

  func stop() {
    values = nil
    changes?.revert()
    changes = nil
  }
}
