import CLinux
import Glibc
import Guarding
import MCAP
import Recording
import TestSupport
import Testing

@testable import Outputs

/// A client's socket in place of a folder.
@Suite(.timeLimit(.minutes(10))) struct ClientStoreTests {
  /// The two ends of a socket.
  private final class Ends {
    let hub: Int32
    private(set) var client: Int32

    init() {
      var ends: [Int32] = [0, 0]
      precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      (hub, client) = (ends[0], ends[1])
    }

    deinit {
      close(hub)
      leave()
    }

    /// Closes the connection, even if a program that is just being started has a copy of the descriptor.
    func leave() {
      guard client >= 0 else { return }
      shutdown(client, Int32(SHUT_RDWR))
      close(client)
      client = -1
    }
  }

  private func append(_ bytes: [UInt8], to file: any SegmentFile) throws(MCAPError) {
    try bytes.withUnsafeBufferPointer { (bytes) throws(MCAPError) in try file.append(UnsafeRawBufferPointer(bytes)) }
  }

  /// More bytes than any socket's buffer holds.
  private let large = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

  @Test func `a client that reads gets the whole recording in order`() throws {
    let ends = Ends()
    let store = ClientStore(ends.hub)
    let received = Recorder<[UInt8]>()
    let count = large.count + 3
    let client = ends.client
    let error = DetachedThread.start("client") {
      var chunk = [UInt8](repeating: 0, count: 4096)
      var left = count
      while left > 0, case let read = read(client, &chunk, chunk.count), read > 0 {
        received.append(Array(chunk[..<read]))
        left -= read
      }
    }
    #expect(error == 0)
    let file = try store.create("x", limit: nil)
    try append([1, 2, 3], to: file)
    try append(large, to: file)
    try file.synchronize()
    #expect(received.waits { $0.reduce(0) { $0 + $1.count } == count })
    #expect(Array(received.values.joined()) == [1, 2, 3] + large)
    #expect(file.isThere && store.segments.isEmpty)
  }

  @Test func `writing to a client that has left fails, and so does every later write`() throws {
    let ends = Ends()
    let store = ClientStore(ends.hub)
    let file = try store.create("x", limit: nil)
    ends.leave()
    #expect(throws: MCAPError.system("sending a recording", errno: EPIPE)) { try append([1], to: file) }
    #expect(!file.isThere)
    #expect(throws: MCAPError.system("sending a recording", errno: EPIPE)) { try append([1], to: file) }
    #expect(throws: MCAPError.system("sending a recording", errno: EPIPE)) { _ = try store.create("x", limit: nil) }
  }

  @Test func `a client that does not read is waited for until a limit, and then gets nothing more`() throws {
    let ends = Ends()
    let file = try ClientStore(ends.hub, patience: .milliseconds(20)).create("x", limit: nil)
    #expect(throws: MCAPError.system("sending a recording", errno: ETIMEDOUT)) { try append(large, to: file) }
    // The client has received a part, so nothing else can follow.
    var byte: UInt8 = 0
    #expect(read(ends.client, &byte, 1) == 1)
    #expect(throws: MCAPError.system("sending a recording", errno: EPIPE)) { try append([1], to: file) }
  }
}
