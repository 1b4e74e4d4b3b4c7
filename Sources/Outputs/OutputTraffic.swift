import Guarding
import Publishing
import Synchronization

/// Counts clients and dropped values per output, for monitoring the hub.
public final class OutputTraffic: Sendable {
  /// The counts of one kind of output.
  public final class Kind: Sendable {
    public let name: String
    private let connected = Guarded(0)
    private let mutableClientCounts = MutableProperty(0)
    private let lost = Atomic(0)
    private let refused = Atomic(0)

    init(_ name: String) { self.name = name }

    /// The number of clients that are connected now.
    public var clients: Int { connected.withLock { $0 } }
    /// The number of clients that are connected, now and after each change.
    public var clientCounts: Property<Int> { mutableClientCounts.readOnly }
    /// The number of values that were dropped because a client, a broker or the network did not take them in time, or
    /// because the broker refused them.
    public var droppedValues: Int { lost.load(ordering: .relaxed) }
    /// The number of clients and requests that were refused, because there were too many, or because they are not
    /// permitted or invalid.
    public var refusedClients: Int { refused.load(ordering: .relaxed) }

    func clientCame() { changeClients(by: 1) }
    func clientLeft() { changeClients(by: -1) }
    func clientRefused() { clientsRefused(1) }
    func clientsRefused(_ count: Int) { refused.add(count, ordering: .relaxed) }
    func valueDropped() { valuesDropped(1) }
    func valuesDropped(_ count: Int) { lost.add(count, ordering: .relaxed) }

    private func changeClients(by difference: Int) {
      // Staging under the lock ensures that after two concurrent changes the later one is delivered last.
      let mustDeliver = connected.withLock { count in
        count += difference
        return mutableClientCounts.stage(count)
      }
      if mustDeliver { mutableClientCounts.deliver() }
    }
  }

  public let devices = Kind("devices")
  public let state = Kind("state")
  /// The clients that record through `record.sock`.
  public let record = Kind("record")
  public let gpsd = Kind("gpsd")
  public let nmea = Kind("nmea")
  public let signalK = Kind("signalk")
  public let mavlink = Kind("mavlink")
  public let bridge = Kind("bridge")
  public let events = Kind("events")
  /// The connections to the web port, including those with event streams.
  public let http = Kind("http")
  /// The requests of viewers through the broker.
  public let mqtt = Kind("mqtt")

  public var kinds: [Kind] { [devices, state, record, gpsd, nmea, signalK, mavlink, bridge, events, http, mqtt] }

  public init() {}
}
