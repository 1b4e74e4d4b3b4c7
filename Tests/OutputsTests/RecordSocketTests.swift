import Glibc
import HardwareIO
import Hub
import MCAP
import TestSupport
import Testing

@testable import Outputs

/// Recordings for clients of `record.sock`.
@Suite(.timeLimit(.minutes(10))) final class RecordSocketTests {
  private let temporary = TemporaryFolder("record-socket")
  private var path: String { temporary.path + "/drive.mcap" }
  private let board = HubProcess.simulatedBoard("")

  /// Requests a recording, and returns its client once the file has begun.
  private func record(_ hub: ServedHub, _ request: String) -> SocketClient {
    let client = SocketClient(path: hub.recordSocket)
    client.send(request + "\n")
    #expect(client.receives("MCAP0"))
    return client
  }

  /// Ends a recording, checks its file and returns it.
  private func complete(_ client: SocketClient) throws -> MCAPReader<MCAPFileSource> {
    client.finish()
    #expect(client.waitsForEnd())
    HubProcess.write(client.bytes, to: path)
    let reader = try MCAPReader(path: path)
    try reader.check()
    #expect(reader.isIndexed && reader.damage == nil)
    return reader
  }

  private func count(_ topic: String, _ reader: MCAPReader<MCAPFileSource>) throws -> Int {
    var count = 0
    for channel in reader.summary.channels.values where channel.topic == topic {
      var messages = reader.messages(channelIDs: [channel.id])
      while try messages.next() != nil { count += 1 }
    }
    return count
  }

  private func boards(_ reader: MCAPReader<MCAPFileSource>) throws -> [String?] {
    try reader.summary.metadata.map { try reader.metadata($0) }.filter { $0.name == "board" }.map { $0.entries["file"] }
  }

  @Test func `the recording of a board without devices is empty and complete`() async throws {
    let text = "{ name: \"empty\" }"
    let hub = try ServedHub(board: text)
    let reader = try complete(record(hub, "{}"))
    #expect(try boards(reader) == [text])
    await hub.end()
  }

  @Test func `a recording of some parts wakes only the devices for these`() async throws {
    let hub = try ServedHub(board: board)
    let client = record(hub, #"{"parts": ["attitude"], "syncSeconds": 0.1}"#)
    #expect(client.receives("\"attitude\":{"))
    #expect(try hub.device("imu").holders.map { $0.hasSuffix(" (attitude)") } == [true])
    #expect(try hub.device("gps").wakes == 0)
    let reader = try complete(client)
    #expect(try count("/receiver/gps/raw", reader) == 0)
    #expect(try count("/imu/imu/batch", reader) > 0)
    await hub.end()
  }

  @Test func `at most four recordings run at a time, and a fifth is refused until one has ended`() async throws {
    let hub = try ServedHub(board: board)
    let request = #"{"wakes": false}"#
    let clients = (0..<4).map { _ in record(hub, request) }
    let fifth = SocketClient(path: hub.recordSocket)
    fifth.send(request + "\n")
    #expect(fifth.waitsForEnd())
    #expect(fifth.text.contains("no recording: there are 4 already, the maximum"), "\(fifth.text)")
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 0 })
    clients[0].finish()
    // The hub closes the connection once the recording is over.
    #expect(clients[0].waitsForEnd())
    _ = try complete(record(hub, request))
    await hub.end()
  }

  @Test func `an invalid request is answered, and the connection is closed`() async throws {
    let hub = try ServedHub(board: board)
    let client = SocketClient(path: hub.recordSocket)
    client.send("{\"wakes\": \"perhaps\"}\n")
    #expect(client.waitsForEnd())
    #expect(client.text.hasPrefix("{\"class\":\"ERROR\",\"message\":\"send one line"), "\(client.text)")
    #expect(client.lineCount == 1)
    await hub.end()
  }

  @Test func `a recording continues in the same file across a reload, and contains both boards`() async throws {
    let hub = try ServedHub(board: board)
    let client = record(hub, #"{"name": "record", "syncSeconds": 0.1}"#)
    // This client gets the states that are recorded too, at the same rate.
    let states = SocketClient(path: hub.socket)
    #expect(states.receives(lineCount: 10))
    let other = board.replacing("\"vehicle\"", with: "\"free\"")
    try await hub.reload(other)
    let count = states.lineCount
    #expect(states.receives(lineCount: count + 10))
    states.leave()
    let isAlone = hub.shows("imu") { $0.holders == ["record[\(getpid())]"] }
    #expect(isAlone, "\(hub.hub.devices.map(\.holders))")
    let reader = try complete(client)
    #expect(hub.comesToRest())
    #expect(try boards(reader) == [board, other])
    #expect(try self.count("/state", reader) >= 15)
    await hub.end()
  }
}
