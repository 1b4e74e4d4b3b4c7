import HardwareIO
import Hub
import MonotonicTime
import Outputs
import TestSupport
import Testing

/// The time limits of the systemd unit, compared with those that the hub sets itself.
struct ServiceLimitsTests {
  /// How much longer than the hub's own limits a start or an end may take on a slow card.
  private static let card = Duration.seconds(20)

  /// A limit of the unit; `nil` if the unit does not set it.
  private static func limit(_ key: String) throws -> Duration? {
    let bytes = try Files.bytes(of: SharedData.packageFolder + "/systemd/sensorhub.service")
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let values = lines.filter { $0.hasPrefix("\(key)=") }.compactMap { Int($0.dropFirst(key.count + 1)) }
    return values.last.map { .seconds($0) }
  }

  @Test func `systemd gives a start on a slow card enough time`() throws {
    #expect(try #require(try Self.limit("TimeoutStartSec")) >= MakingSafe.limit + Self.card)
  }

  @Test func `systemd lets an end on a slow card save its files, and then lets a command drive the lines low`() throws {
    let limit = try #require(try Self.limit("TimeoutStopSec"))
    #expect(limit >= HubHost.longestEnd + Self.card && limit >= MakingSafe.limit + Self.card)
  }

  @Test func `a hub that misses its watchdog is killed soon, although other ends may take long`() throws {
    #expect(try #require(try Self.limit("TimeoutAbortSec")) <= .seconds(5))
  }
}
