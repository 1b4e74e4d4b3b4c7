/// A u-blox receiver's settings, in the memories that it keeps them in.
struct UBXSettings: Sendable {
  /// In RAM everything, in the others what was put there.
  struct Layer: Sendable {
    var values: [UInt32: UInt64] = [:]
    /// Of older messages, what has no key, by class and identifier (and index).
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

  /// As at each start: the factory's, over that the flash's, over that the backup RAM's.
  mutating func start() {
    ram = factory
    ram.put(flash)
    ram.put(backup)
  }

  /// What a mask of CFG-CFG chooses.
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
