import Glibc
import HardwareIO
import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

private enum Disk {
  static let folder = getenv("SENSORHUB_DISK_BENCH").map { String(cString: $0) }
  /// Whether the test runs in real time, so that the file system's own periodic writes count too.
  static let isReal = getenv("SENSORHUB_DISK_REAL") != nil
}

/// The bytes that reach the disk in ten minutes of a hub, relative to the recorded bytes. Measured only if the
/// environment names a folder for it, on a separate file system: SENSORHUB_DISK_BENCH.
@Suite(.serialized, .enabled(if: Disk.folder != nil, "SENSORHUB_DISK_BENCH names no folder"))
struct DiskBytesTests {
  struct Case: CustomTestStringConvertible {
    var syncSeconds: Int
    var isFull: Bool
    /// The maximum number of bytes that may reach the disk; `nil` if the number is only shown.
    var limit: Double?

    var testDescription: String { "\(syncSeconds) s, \(isFull ? "a full ring" : "a growing one")" }
  }

  @Test(arguments: [
    Case(syncSeconds: 5, isFull: true, limit: 1.35), Case(syncSeconds: 1, isFull: true, limit: 2.4),
    Case(syncSeconds: 5, isFull: false, limit: nil), Case(syncSeconds: 1, isFull: false, limit: nil),
  ])
  func `the bytes that reach the disk stay below the stated limits`(_ wanted: Case) throws {
    let base = try #require(Disk.folder)
    let store = SegmentFolder(path: "\(base)/\(wanted.syncSeconds)s-\(wanted.isFull)")
    func settings(_ seconds: Int) -> RecordSettings {
      RecordSettings(path: store.path, maximumMegabytes: 64, syncInterval: .seconds(seconds))
    }
    if wanted.isFull {
      let before = Rig(store, settings(3600))
      before.record(0..<4000)
      before.writer.finish()
    }
    let rig = Rig(store, settings(wanted.syncSeconds))
    var pause = rig.writer.turn()
    _ = record(seconds: 30, rig, &pause)
    sync()
    let start = try sectorsWritten(store.path)
    let payload = record(seconds: 600, rig, &pause)
    let end = try sectorsWritten(store.path)
    let ratio = Double(end - start) * 512 / Double(payload)
    rig.writer.finish()
    HubProcess.write(
      Array("\(wanted.testDescription): \(ratio) of \(payload) bytes\n".utf8),
      to: "\(base)/result-\(wanted.syncSeconds)s-\(wanted.isFull ? "full" : "growing").txt")
    for segment in store.segments { try store.remove(segment.name) }
    if let limit = wanted.limit { #expect(ratio <= limit) }
  }

  /// Records sentences each second, ten batches and ten states: 3.26 kB in 21 messages. Returns their number of bytes.
  private func record(seconds: Int, _ rig: Rig, _ pause: inout RecordingWriter.Pause) -> Int {
    var payload = 0
    func append(_ count: Int) {
      payload += count
      rig.append([UInt8](repeating: UInt8(ascii: "x"), count: count))
    }
    for tick in 0..<seconds * 10 {
      if tick % 10 == 0 { append(460) }
      append(130)
      append(150)
      // The call comes at the time at which the thread would make it.
      switch pause {
      case .rest: pause = rig.writer.turn()
      case .until(let instant): if instant <= rig.clock.now { pause = rig.writer.turn() }
      }
      if Disk.isReal { _ = poll(nil, 0, 100) }
      rig.clock.advance(by: .milliseconds(100))
    }
    return payload
  }

  /// Returns the sectors written to the device of a folder since its start.
  private func sectorsWritten(_ folder: String) throws -> Int {
    var status = stat()
    try #require(stat(folder, &status) == 0)
    let device = UInt64(status.st_dev)
    let major = device >> 8 & 0xFFF
    let minor = device & 0xFF | device >> 12 & 0xFFF00
    let text = String(decoding: try Files.bytes(of: "/sys/dev/block/\(major):\(minor)/stat"), as: UTF8.self)
    return try #require(text.split(whereSeparator: \.isWhitespace).dropFirst(6).first.flatMap { Int($0) })
  }
}
