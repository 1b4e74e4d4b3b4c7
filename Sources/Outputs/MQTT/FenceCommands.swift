import FoundationEssentials
import Guarding
import Hub
import MonotonicTime
import Publishing

/// Adds and removes fences for viewers at a broker, and answers each command.
///
/// The broker decides which clients may publish such a command, as for requests that hold devices. Commands are carried
/// out one after the other on a thread of their own, because a change waits for the disk.
final class FenceCommands: Sendable {
  /// A command: `{"fence": {"name": "anchor", "radiusMetres": 40}}` or `{"removeFence": "anchor"}`, as on the state
  /// socket.
  struct Command: Decodable, Sendable {
    var fence: FenceOrder?
    var removeFence: String?
    /// A text that the answer repeats, so that a viewer recognises it.
    var id: String?

    private enum CodingKeys: String, CodingKey, CaseIterable { case fence, removeFence, id }

    init(from decoder: any Decoder) throws {
      try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
      let values = try decoder.container(keyedBy: CodingKeys.self)
      fence = try values.decodeIfPresent(FenceOrder.self, forKey: .fence)
      removeFence = try values.decodeIfPresent(String.self, forKey: .removeFence)
      id = try values.decodeIfPresent(String.self, forKey: .id)
    }

    /// Parses and checks a command.
    static func read(_ payload: [UInt8]) throws(FenceRefusal) -> Command {
      let command: Command
      do {
        guard payload.count <= FenceCommands.longest else { throw FenceRefusal.wrong("the command is too long") }
        command = try JSONDecoder().decode(Command.self, from: Data(payload))
      } catch let refusal as FenceRefusal {
        throw refusal
      } catch let unknown as RequestKey.Unknown {
        throw .wrong("\(unknown)")
      } catch {
        throw .wrong(
          #"a command is {"fence": {"name": "anchor", "radiusMetres": 40}} or {"removeFence": "anchor"}"#)
      }
      guard (command.fence == nil) != (command.removeFence == nil) else {
        throw .wrong("a command has either 'fence' or 'removeFence'")
      }
      guard command.id.map({ $0.utf8.count <= FenceCommands.longestID }) ?? true else {
        throw .wrong("'id' must have at most \(FenceCommands.longestID) bytes")
      }
      return command
    }
  }

  private struct Waiting: Sendable {
    var viewer: String
    var payload: [UInt8]
  }

  private struct State {
    var waiting: [Waiting] = []
    var isWorking = false
    /// The leases of fences that wait for the board's position, by number.
    var searches: [Int: Subscription] = [:]
    /// The answers that came before the lease was stored.
    var answered: Set<Int> = []
    var lastSearch = 0
    var starts = RequestStarts()
    var refusals = RequestStarts()
    var isOver = false
  }

  /// The longest command and the longest `id`, in bytes.
  static let longest = 4096
  static let longestID = 64
  /// The maximum number of commands that wait.
  static let most = 16
  /// The maximum number of fences that wait for the board's position.
  static let mostSearches = 8

  private let host: HubHost
  private let clock: any MonotonicTimeSource
  private let send: @Sendable (_ viewer: String, _ answer: [UInt8]) -> Void
  private let state = Guarded(State())

  /// - Parameter send: called with each answer and its viewer
  init(
    host: HubHost, clock: any MonotonicTimeSource = MonotonicClock(),
    send: @escaping @Sendable (_ viewer: String, _ answer: [UInt8]) -> Void
  ) {
    self.host = host
    self.clock = clock
    self.send = send
  }

  /// Handles a viewer's command. Does not wait.
  ///
  /// - Parameter isRepeated: whether the broker kept the command. Such a command may be old, and is ignored: otherwise
  ///   a fence that was removed in the meantime would come back with each connection
  func receive(_ payload: [UInt8], isRepeated: Bool, from viewer: String) {
    // An empty message only removes a retained one.
    if payload.isEmpty { return }
    if isRepeated { return host.traffic.mqtt.clientRefused() }
    let (isTaken, mustStart) = state.withLock { state in
      guard !state.isOver, state.waiting.count < FenceCommands.most else { return (false, false) }
      state.waiting.append(Waiting(viewer: viewer, payload: payload))
      defer { state.isWorking = true }
      return (true, !state.isWorking)
    }
    guard isTaken else { return host.traffic.mqtt.clientRefused() }
    guard mustStart else { return }
    let error = DetachedThread.start("fence commands") { [self] in work() }
    guard error != 0 else { return }
    state.withLock { ($0.isWorking, $0.waiting) = (false, []) }
    host.traffic.mqtt.clientRefused()
  }

  private func work() {
    while let next = state.withLock({ state -> Waiting? in
      guard !state.isOver, !state.waiting.isEmpty else {
        state.isWorking = false
        return nil
      }
      return state.waiting.removeFirst()
    }) {
      perform(next)
    }
  }

  private func perform(_ waiting: Waiting) {
    let command: Command
    do throws(FenceRefusal) {
      command = try Command.read(waiting.payload)
    } catch {
      host.traffic.mqtt.clientRefused()
      return refuse(error, id: nil, waiting.viewer)
    }
    if state.withLock({ $0.starts.note(at: clock.now) }) {
      host.traffic.mqtt.clientRefused()
      let reason = "viewers have changed fences \(RequestStarts.most) times within an hour: try again later"
      return refuse(.wrong(reason), id: command.id, waiting.viewer)
    }
    if let name = command.removeFence {
      remove(name, command.id, waiting.viewer)
    } else if let order = command.fence {
      add(order, command.id, waiting.viewer)
    }
  }

  private func remove(_ name: String, _ id: String?, _ viewer: String) {
    do throws(FenceRefusal) {
      let isKept = try host.fences.remove(name)
      answer(id, viewer) { FenceReport.write(name: name, isRemoved: true, isKept: isKept, nil, to: &$0) }
    } catch {
      refuse(error, id: id, viewer)
    }
  }

  private func add(_ order: FenceOrder, _ id: String?, _ viewer: String) {
    let number = state.withLock { state -> Int? in
      guard state.searches.count < FenceCommands.mostSearches else { return nil }
      state.lastSearch += 1
      return state.lastSearch
    }
    guard let number else {
      return refuse(.wrong("too many fences wait for the board's position: try again later"), id: id, viewer)
    }
    let name = "mqtt \(viewer)"
    let holder = Holder(name, id: HolderID(named: name), payer: Payer("mqtt"))
    let search = host.add(order, as: holder) { [weak self] outcome, refusal in
      self?.ended(number)
      if let outcome {
        self?.answer(id, viewer) {
          FenceReport.write(
            name: outcome.fence.name, isRemoved: false, isKept: outcome.isKept, outcome.fence, to: &$0)
        }
      } else {
        self?.refuse(refusal ?? .noPosition, id: id, viewer)
      }
    }
    let isOver = state.withLock { state in
      if state.answered.remove(number) != nil || search == nil { return false }
      if !state.isOver { state.searches[number] = search }
      return state.isOver
    }
    if isOver { search?.cancel() }
  }

  /// Forgets the lease of a fence that was added or refused.
  private func ended(_ number: Int) {
    let search = state.withLock { state -> Subscription? in
      guard let search = state.searches.removeValue(forKey: number) else {
        state.answered.insert(number)
        return nil
      }
      return search
    }
    search?.cancel()
  }

  private func refuse(_ refusal: FenceRefusal, id: String?, _ viewer: String) {
    // Without this limit, a client with invalid commands could make the hub publish an answer to each of them.
    guard !state.withLock({ $0.refusals.note(at: clock.now) }) else { return }
    answer(id, viewer) { json in
      json.beginObject()
      json.member("class", literal: "ERROR")
      json.member("message", refusal.description)
      json.endObject()
    }
  }

  /// Sends an answer, which begins with the command's `id`.
  private func answer(_ id: String?, _ viewer: String, _ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter(capacity: 512)
    write(&json)
    var answer = Array(json.bytes)
    if answer.last == UInt8(ascii: "\n") { answer.removeLast() }
    if let id {
      var head = JSONWriter(capacity: 128)
      head.beginObject()
      head.member("id", Text.printable(id))
      head.endObject()
      // Join the two objects into one, which begins with `id`.
      answer = head.bytes.dropLast() + [UInt8(ascii: ",")] + answer.dropFirst()
    }
    send(viewer, answer)
  }

  /// Gives up the fences that still wait for the board's position. Fences that were added stay.
  func end() {
    let searches = state.withLock { state in
      state.isOver = true
      state.waiting = []
      defer { state.searches = [:] }
      return state.searches.values.map { $0 }
    }
    for search in searches { search.cancel() }
  }
}
