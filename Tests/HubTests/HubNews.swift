import Publishing
import TestSupport

@testable import Hub

extension Hub {
  /// Blocks until a condition on the devices is met. The condition is checked again after each change of a device's
  /// status, supply, subscribers or motion, after each read of a receiver, and after each sample of a supply monitor.
  ///
  /// - Returns: whether the condition was met before the deadline of a test
  func waits(until isMet: () throws -> Bool) rethrows -> Bool {
    if try isMet() { return true }
    let news = News()
    news.follow(registry)
    news.follow(states.fused.activity)
    // This includes the supplies of devices that have left the board.
    for rail in machine.switchedRails { news.follow(rail.supply) }
    for entry in registry.value.entries { entry.follow(with: news) }
    return try news.waits(until: isMet)
  }
}

extension BoardDevice {
  /// Counts each change of the device as an event. Wakes nothing.
  fileprivate func follow(with news: News) {
    switch self {
    case .receiver(_, let reader):
      reader.device.follow(with: news)
      news.follow(reader.counters)
    case .imu(_, let reader): reader.follow(with: news)
    case .magnetometer(_, let reader): reader.follow(with: news)
    case .barometer(_, let reader): reader.follow(with: news)
    case .supplyMonitor(_, let reader):
      reader.follow(with: news)
      news.follow(reader.readings.observed)
    }
  }
}

extension DeviceReader {
  fileprivate func follow(with news: News) {
    news.follow(monitor.changes)
    news.follow(source.activity)
    news.follow(readings.activity)
    guard let motion else { return }
    news.follow(motion.activity)
    news.follow(motion.stillness.observed)
  }
}
