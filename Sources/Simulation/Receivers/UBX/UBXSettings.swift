/// The settings of a u-blox receiver, in its different memories.
struct UBXSettings: Sendable {
  /// The settings in one memory. RAM has all of them; the other memories have only the settings that were saved.
  struct Layer: Sendable {
    var values: [UInt32: UInt64] = [:]
    /// The contents of older messages that have no key, by class and identifier (and index).
    var records: [UInt32: [UInt8]] = [:]

    mutating func put(_ other: Layer) {
      values.merge(other.values) { $1 }
      records.merge(other.records) { $1 }
    }
  }

  enum Memory: Sendable {
    case backup
    case flash
  }

  let factory: Layer
  var ram: Layer
  var backup = Layer()
  var flash = Layer()
  let hasFlash: Bool

  init(_ generation: UBXGeneration, _ character: ReceiverCharacter) {
    factory = Layer(
      values: UBXKey.factory(generation, speed: character.speed), records: UBXRecord.factory(generation))
    ram = factory
    hasFlash = character.hasFlash
  }

  func value(_ key: UInt32) -> UInt64 { ram.values[key] ?? 0 }
  func isOn(_ key: UInt32) -> Bool { value(key) != 0 }

  /// Loads the settings at a start: the factory settings, then the settings in flash, then the settings in backup RAM.
  mutating func start() {
    ram = factory
    ram.put(flash)
    ram.put(backup)
  }

  /// The settings that a CFG-CFG mask selects.
  private func chosen(_ layer: Layer, _ mask: UInt32) -> Layer {
    Layer(
      values: layer.values.filter { UBXKey.part($0.key) & mask != 0 },
      records: layer.records.filter { UBXRecord.part($0.key) & mask != 0 })
  }

  mutating func save(_ mask: UInt32, in memories: Set<Memory>) {
    let saved = chosen(ram, mask)
    if memories.contains(.backup) { backup.put(saved) }
    if memories.contains(.flash), hasFlash { flash.put(saved) }
  }

  mutating func clear(_ mask: UInt32, in memories: Set<Memory>) {
    if memories.contains(.backup) { backup = chosen(backup, ~mask) }
    if memories.contains(.flash) { flash = chosen(flash, ~mask) }
  }

  mutating func load(_ mask: UInt32) {
    ram.put(chosen(factory, mask))
    ram.put(chosen(flash, mask))
    ram.put(chosen(backup, mask))
  }
}
