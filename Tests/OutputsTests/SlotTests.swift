import Glibc
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The slots for standing requests: the shares of users, and the right to end requests.
@Suite(.timeLimit(.minutes(10)))
struct SlotTests {
  private let mallory = SlotUser.account(1001)
  private let alice = SlotUser.account(1002)

  @Test func `one user gets at most half of the places, other users leave a quarter, and root always finds one`() {
    func refusal(_ user: SlotUser, _ places: Int, _ guests: (SlotUser, Int)...) -> String? {
      user.refusal(to: places, among: guests.flatMap { Array(repeating: $0.0, count: $0.1) })
    }
    #expect(refusal(mallory, 256, (mallory, 127)) == nil)
    #expect(refusal(mallory, 256, (mallory, 128))?.hasSuffix("has 128 of 256, the most that one user may have") == true)
    #expect(refusal(alice, 256, (mallory, 128)) == nil)
    #expect(
      refusal(.machine([10, 0, 0, 1]), 256, (mallory, 128), (alice, 64))?.hasPrefix("other users have 192") == true)
    #expect(refusal(.keeper, 256, (mallory, 128), (alice, 64)) == nil)
    #expect(refusal(.keeper, 256, (mallory, 128), (.keeper, 128)) == "there are 256 already, the maximum")
    #expect(refusal(mallory, 4, (mallory, 1)) == nil)
    #expect(refusal(mallory, 4, (mallory, 2)) != nil)
    #expect(refusal(alice, 4, (mallory, 2), (alice, 1)) != nil)
    #expect(refusal(.keeper, 4, (mallory, 2), (alice, 1)) == nil)
    // All users of a broker are equal, so no slot for a broker's users is reserved for root.
    #expect(refusal(.broker("alice"), 256, (.broker("mallory"), 128), (.broker(""), 100)) == nil)
    #expect(SlotUser(account: 0, own: 5) == .keeper && SlotUser(account: 5, own: 5) == .keeper)
    #expect(SlotUser(account: 6, own: 5) == .account(6))
    #expect(SlotUser(viewer: "mallory/phone") == .broker("mallory") && SlotUser(viewer: "phone") == .broker(""))
    #expect(SlotUser.keeper.isTrusted && !SlotUser.machine([10, 0, 0, 1]).isTrusted)
    // No user database has this number.
    #expect(!SlotUser.account(1_987_654_321).isTrusted)
  }

  @Test func `root, the hub's user and the service's group may change lasting settings`() {
    func may(_ user: UInt32, _ groups: [UInt32], group: UInt32? = 990) -> Bool {
      LocalRights.mayChange(user: user, groups: groups, own: 991, group: group)
    }
    #expect(may(0, []) && may(991, []) && may(1001, [100, 990]))
    #expect(!may(1001, [100]) && !may(1001, []) && !may(1001, [990], group: nil))
  }

  /// Waits for a connection. Returns whether one came before the deadline of a test.
  private func isReadable(_ listener: Int32) -> Bool {
    Poller(stop: -1).wait(for: listener, atMost: .seconds(180)) == .readable
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `the kernel reports the user at the other end of a socket, with all groups`() throws {
    try RootRights.require()
    let temporary = TemporaryFolder("peer")
    chmod(temporary.path, 0o755)
    let path = "\(temporary.path)/hub.sock"
    let listener = try UnixSocket.listen(path, in: Folder(temporary.path, of: .own))
    defer { close(listener) }
    #expect(OtherUser.mode(of: path) == 0o666)
    let script = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('\(path)'); s.recv(1)"
    let client = OtherUser.program(
      ["-c", script], path: "/usr/bin/python3", groups: [4242, 4243], readsAll: false)
    #expect(isReadable(listener), "\(client.standardError)")
    let accepted = accept(listener, nil, nil)
    #expect(accepted >= 0)
    defer { close(accepted) }
    #expect(UnixSocket.guest(accepted).user == OtherUser.mallory)
    #expect(Set(UnixSocket.groups(accepted)) == [OtherUser.mallory, 4242, 4243])
    #expect(!LocalRights.mayChange(accepted))
    #expect(LocalRights.mayChange(user: OtherUser.mallory, groups: UnixSocket.groups(accepted), group: 4243))
  }

  @Test func `the kernel's table gives the user of an open connection`() throws {
    func row(_ from: String, _ to: String, _ state: String, _ user: String) -> String {
      "   1: \(from) \(to) \(state) 00000000:00000000 02:000003B2 00000000  \(user)        0 1076 2 0 20 4 30 10 -1"
    }
    let server = TCPAddress(address: .loopbackIPv4, port: 8080)
    let client = TCPAddress(address: .loopbackIPv4, port: 40_000)
    let (here, there) = ("0100007F:9C40", "0100007F:1F90")
    let table = [
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
      row(there, here, "01", "990"), row(here, "0200007F:1F90", "01", "7"), row("0200007F:9C40", there, "01", "8"),
      row(here, there, "06", "0"), row(here, there, "01", "1001"),
    ].joined(separator: "\n")
    #expect(LocalTCPUser.users(in: Array(table.utf8), of: client, to: server, isIPv6: false) == [1001])
    #expect(LocalTCPUser.users(in: Array(table.utf8), of: client, to: server, isIPv6: true).isEmpty)
    let mapped = row("0000000000000000FFFF00000100007F:9C40", "0000000000000000FFFF00000100007F:1F90", "01", "5")
    #expect(LocalTCPUser.users(in: Array(mapped.utf8), of: client, to: server, isIPv6: true) == [5])
    let closed = Array(row(here, there, "04", "0").utf8)
    #expect(LocalTCPUser.users(in: closed, of: client, to: server, isIPv6: false).isEmpty)
  }

  /// The connection is the test's own, seen from its other end.
  @Test func `the user of a connection from this machine is found`() throws {
    let port = SocketClient.freePort()
    let server = TCPAddress(address: .loopbackIPv4, port: port)
    let listener = try TCPSocket.listen(server)
    defer { close(listener) }
    let client = SocketClient(port: port)
    #expect(isReadable(listener))
    let accepted = accept(listener, nil, nil)
    #expect(accepted >= 0)
    let other = try #require(TCPSocket.prepare(accepted))
    #expect(LocalTCPUser.find(of: other, to: server) == geteuid())
    client.leave()
    #expect(client.waitsForEnd())
    // Without its process the kernel would show the connection as root's.
    #expect(LocalTCPUser.find(of: other, to: server) == nil)
    close(accepted)
  }

  @Test func `one user of a broker gets at most half of the requests, and root can end all of them`() async throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    let hub = Hub(board: board, hardware: SimulatedHardware())
    let host = HubHost(hub, version: "test")
    let expired = Recorder<ViewerRequest.Key>()
    let leases = ViewerLeases(
      host: host, clock: ManualClock(), send: { _, _ in }, sendFix: { _, _ in }, expired: { expired.append($0) })
    leases.connected()
    func ask(_ viewer: String) {
      let key = ViewerRequest.Key(viewer: viewer, stream: .part(.attitude))
      leases.receive(Array("{}".utf8), expirySeconds: nil, from: key)
    }
    for number in 0..<140 { ask("mallory/\(number)") }
    #expect(leases.audience.value.viewers.count == 128)
    // A client that is connected may change its request.
    ask("mallory/0")
    ask("alice/phone")
    ask("phone")
    #expect(leases.audience.value.viewers.count == 130)
    let ended = host.slotOwners.releaseAll().first { $0.kind == "interests" }
    #expect(ended?.count == 130)
    #expect(leases.audience.value.viewers.isEmpty && expired.values.count == 130)
    leases.end()
    hub.shutDown()
    await hub.isOff()
  }
}
