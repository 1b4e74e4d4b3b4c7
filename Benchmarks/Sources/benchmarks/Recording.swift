import Glibc
import HardwareIO

/// Logs of real receivers, repeated to 16 MB. Without logs, one made-up epoch is repeated.
struct Recording {
  let bytes: [UInt8]
  let path = "/tmp/sensorhub-benchmark.nmea"
  let isReal: Bool

  init(folder: String) {
    var once: [UInt8] = []
    for name in Files.names(in: folder) where name.hasSuffix(".log") {
      let lines = ((try? Files.bytes(of: "\(folder)/\(name)")) ?? []).split(separator: UInt8(ascii: "\n"))
      for line in lines where line.first == UInt8(ascii: "$") { once += line + [UInt8(ascii: "\n")] }
    }
    isReal = !once.isEmpty
    if once.isEmpty { once = Array(Recording.example.utf8) }
    var bytes: [UInt8] = []
    while bytes.count < 16_000_000 { bytes += once }
    self.bytes = bytes
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    precondition(file >= 0 && write(file, bytes, bytes.count) == bytes.count, "cannot write \(path)")
    close(file)
  }

  /// Logs of receivers with binary protocols, repeated to 16 MB; empty without logs.
  static func messages(folder: String) -> [UInt8] {
    let once = Files.names(in: folder).filter { $0.hasSuffix(".log") }
      .flatMap { (try? Files.bytes(of: "\(folder)/\($0)")) ?? [] }
    var bytes: [UInt8] = []
    while !once.isEmpty, bytes.count < 16_000_000 { bytes += once }
    return bytes
  }

  private static let example = """
    $GPRMC,120000.00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A*6D
    $GPGGA,120000.00,5231.0000,N,01322.0000,E,1,08,0.9,40.0,M,40.0,M,,*59

    """
}
