import Hub

@testable import Outputs

/// A caster's answers, and its table of mount points.
enum CasterTarget {
  private struct Read: Equatable {
    var body: [UInt8] = []
    var kind: CasterAnswer.Body?
    var error: CasterError?
    var mountPoints: [String] = []
  }

  static func run(_ input: UnsafeBufferPointer<UInt8>) {
    let whole = read(input, by: max(1, input.count))
    // The result is the same for any division into reads; bytes after the damage that ended it do not count.
    for size in [1, 7] {
      let cut = read(input, by: size)
      require(cut == whole, "in pieces of \(size) it is \(cut), and as a whole \(whole)")
    }
    require(whole.body.count <= input.count, "a body of \(whole.body.count) bytes, of \(input.count)")
    for name in whole.mountPoints {
      require(Text.printable(name) == name, "a mount point in which something hides")
    }
    if let error = whole.error {
      let caster = CasterSettings(host: "a", mountPoint: "B")
      require(Text.printable(error.text(of: caster)) == error.text(of: caster), "an error in which something hides")
    }
  }

  private static func read(_ input: UnsafeBufferPointer<UInt8>, by size: Int) -> Read {
    var (answer, table, read) = (CasterAnswer(), SourceTable(), Read())
    do throws(CasterError) {
      for start in stride(from: 0, to: input.count, by: size) {
        try answer.take(Array(input[start..<min(start + size, input.count)])[...]) { body in
          read.body += body
          table.take(body)
        }
      }
    } catch {
      read.error = error
    }
    read.kind = answer.body
    read.mountPoints = table.mountPoints
    return read
  }
}
