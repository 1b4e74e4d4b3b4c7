import Synchronization

/// For whom a source runs: a client, a schedule, or a part of the program.
///
/// ```swift
/// let display = Holder("display 7", id: HolderID(), payer: "displays")
/// let lease = celsius.subscribe(as: display, receiveValue: { show($0) })
/// ```
///
/// What is derived from a source holds it for its own subscribers: `celsius.map { … }` is held by the same `display`, and the
/// thermometer's publisher lists it (`LazyPublisher.holders`). The label is for people. Programs compare the other three.
public struct Holder: Sendable {
  /// Who it is, in however many ways it holds something.
  public let id: HolderID
  /// As people read it in lists and logs: `gpsd 127.0.0.1:51512`.
  public let label: String
  /// The account for what running costs; `nil` for a holder that only stands in for others, whose accounts pay on.
  public let payer: Payer?
  /// Why it comes and goes.
  public let purpose: Purpose

  public enum Purpose: Hashable, Sendable {
    /// It comes and leaves when it likes.
    case client
    /// It comes and leaves at times that are known beforehand.
    case schedule
    /// A part of the program that holds a source for the program's own work.
    case `internal`
  }

  /// - Parameters:
  ///   - id: by default the one of the part of the program that has this label
  ///   - payer: by default an account of the label's name
  public init(_ label: String, id: HolderID? = nil, payer: Payer, purpose: Purpose = .client) {
    self.init(label: label, id: id ?? HolderID(named: label), payer: payer, purpose: purpose)
  }

  public init(_ label: String, id: HolderID? = nil, purpose: Purpose = .client) {
    self.init(label: label, id: id ?? HolderID(named: label), payer: Payer(label), purpose: purpose)
  }

  private init(label: String, id: HolderID, payer: Payer?, purpose: Purpose) {
    (self.id, self.label, self.payer, self.purpose) = (id, label, payer, purpose)
  }

  /// A part of the program that keeps something going for others until these have come again, and pays nothing.
  public static func standIn(_ label: String) -> Holder {
    Holder(label: label, id: HolderID(named: label), payer: nil, purpose: .internal)
  }

  /// The same holder, described by what it holds in this way, or by why.
  public func labelled(_ label: String, purpose: Purpose? = nil) -> Holder {
    Holder(label: label, id: id, payer: payer, purpose: purpose ?? self.purpose)
  }
}

extension Holder: Hashable {
  // Whoever has the same ID is nearly always the same in all else.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A part of the program, known by its name: `subscribe(as: "journal", …)`.
extension Holder: ExpressibleByStringInterpolation {
  public init(stringLiteral name: String) { self.init(name) }
}

/// Which holder it is.
public struct HolderID: Hashable, Sendable {
  private enum Identity: Hashable, Sendable {
    case numbered(UInt64)
    case named(String)
  }

  private static let last = Atomic<UInt64>(0)

  private let identity: Identity

  /// A holder that is like no other, as each connection of a client is.
  public init() { identity = .numbered(HolderID.last.add(1, ordering: .relaxed).newValue) }

  /// The one holder of this name, as a part of the program is.
  public init(named name: String) { identity = .named(name) }
}

/// The account that pays for what a source costs while it runs. Several holders may have the same one: a client keeps its account
/// from visit to visit.
public struct Payer: Hashable, Sendable, ExpressibleByStringInterpolation {
  public let name: String

  public init(_ name: String) { self.name = name }

  public init(stringLiteral name: String) { self.init(name) }
}
