/// What a device has come to since the program began, by its name: whoever reads a board file again that changes the device goes
/// on counting from here.
struct RunTotals: Sendable {
  var onTime = Duration.zero
  var wakes = 0
  var energyMilliwattHours = 0.0
  var measuredMilliwattHours = 0.0
  var bills = EnergyBills()
  /// Of all its drivers so far.
  var counters: [DeviceStatus.Counter] = []

  /// Counters with what was counted before; those that are not counted any more are left out.
  func adding(to counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    counters.map { counter in
      DeviceStatus.Counter(
        counter.name, counter.value + (self.counters.first { $0.name == counter.name }?.value ?? 0))
    }
  }

  /// All counters, with what has been counted since.
  func totals(with counters: [DeviceStatus.Counter]) -> [DeviceStatus.Counter] {
    adding(to: counters) + self.counters.filter { old in !counters.contains { $0.name == old.name } }
  }
}
