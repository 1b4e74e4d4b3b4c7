@testable import Hub

/// Ends the run, as a crash does, if an invariant does not hold.
@inline(__always)
func require(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fatalError(message()) }
}

/// The written text must be JSON, an object per line. The board files' parser reads that, and a little more.
func requireJSONLines(_ bytes: UnsafeBufferPointer<UInt8>) {
  for line in bytes.split(separator: UInt8(ascii: "\n")) {
    let object = Array(line)
    guard let value = try? JSON5Parser.parse(object), case .object = value.content else {
      fatalError("no JSON object: \(String(decoding: object, as: UTF8.self))")
    }
  }
}
