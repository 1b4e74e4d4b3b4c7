/// The totals of a device since the program started. They continue when a new board file changes the device.
struct RunTotals: Sendable {
  var onTime = Duration.zero
  var wakes = 0
  var energyMilliwattHours = 0.0
  var measuredMilliwattHours = 0.0
  var energyByClient = EnergyByClient()
  /// The counters of all earlier readers of the device.
  var counters: [DeviceStatus.Counter] = []

  /// Adds the earlier counts to counters. Counters that no longer exist are left out.
  func adding(to counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    counters.map { counter in
      DeviceStatus.Counter(
        counter.name, counter.value + (self.counters.first { $0.name == counter.name }?.value ?? 0))
    }
  }

  /// All counters: the present ones with the earlier counts added, and earlier ones that no longer exist.
  func totals(with counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    adding(to: counters) + self.counters.filter { old in !counters.contains { $0.name == old.name } }
  }
}
