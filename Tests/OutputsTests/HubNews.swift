import Publishing
import TestSupport

@testable import Hub

extension Hub {
  /// Blocks until a condition on the devices and their holders is met. The condition is checked again after each change
  /// of a device's status or subscribers, of the clients of the state, of a receiver's corrections, and after each read
  /// of a receiver.
  ///
  /// - Returns: whether the condition was met before the deadline of a test
  func waits(until isMet: () throws -> Bool) rethrows -> Bool {
    if try isMet() { return true }
    let news = News()
    news.follow(states.fused.activity)
    for entry in registry.value.entries {
      news.follow(entry.reader.monitor.changes)
      switch entry {
      case .receiver(_, let reader):
        news.follow(reader.counters)
        news.follow(reader.corrections.changes)
        news.follow(reader.device.readings.activity)
      case .imu(_, let reader): news.follow(reader.readings.activity)
      case .magnetometer(_, let reader): news.follow(reader.readings.activity)
      case .barometer(_, let reader): news.follow(reader.readings.activity)
      case .supplyMonitor(_, let reader): news.follow(reader.readings.activity)
      }
    }
    return try news.waits(until: isMet)
  }
}
