import FoundationEssentials
import Guarding
import Hub
import MonotonicTime
import NMEA

/// A fence that was added while the hub ran, in the form that the state folder keeps.
struct AddedFence: Codable, Equatable, Sendable {
  var name: String
  var latitude, longitude, radiusMetres: Double
  /// The optional keys of a fence in the board file: `grace` and `every` in seconds, `speed` in metres per second, and
  /// `accuracy` in metres; `nil` for the default.
  var grace, every, speed, accuracy: Double?

  /// Checks the values, and converts them to the settings of a fence.
  ///
  /// - Throws: `.wrong` with the setting that is out of range
  func settings() throws(FenceRefusal) -> FenceSettings {
    guard DeviceDescription.isID(name) else {
      throw .wrong("'name' must be \(DeviceDescription.idForm)")
    }
    let area: FenceArea
    do throws(FenceArea.Refusal) {
      area = try FenceArea(
        circleAbout: Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude), radiusMetres: radiusMetres)
    } catch {
      throw .wrong(
        "'latitude', 'longitude' and 'radiusMetres' must be from \(FenceArea.latitudeDegrees.messageText), "
          + "\(FenceArea.longitudeDegrees.messageText) and \(FenceArea.radiusMetres.messageText)")
    }
    let limits: [(key: String, value: Double?, range: ClosedRange<Double>)] = [
      ("grace", grace, FenceSettings.graceSeconds), ("every", every, FenceSettings.everySeconds),
      ("speed", speed, FenceSettings.speeds), ("accuracy", accuracy, Schedule.accuracyMetres),
    ]
    for (key, value, range) in limits {
      guard value.map(range.contains) ?? true else {
        throw .wrong("'\(key)' must be a number from \(range.messageText)")
      }
    }
    func duration(_ seconds: Double?) -> Duration? { seconds.map { .nanoseconds(Int64($0 * 1e9)) } }
    return FenceSettings(
      name: name, area: area, grace: duration(grace), every: duration(every), speedMetresPerSecond: speed,
      accuracyMetres: accuracy)
  }
}

/// A client's request to add a fence. `{"name": "anchor", "radiusMetres": 40}` has its centre at the board's
/// position; `latitude` and `longitude` name another centre.
struct FenceOrder: Decodable, Equatable, Sendable {
  var name: String
  var latitude, longitude: Double?
  var radiusMetres: Double
  var grace, every, speed, accuracy: Double?

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case name, latitude, longitude, radiusMetres, grace, every, speed, accuracy
  }

  /// - Throws: `RequestKey.Unknown` for an unknown key
  init(from decoder: any Decoder) throws {
    try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
    let values = try decoder.container(keyedBy: CodingKeys.self)
    func number(_ key: CodingKeys) throws -> Double? { try values.decodeIfPresent(Double.self, forKey: key) }
    name = try values.decode(String.self, forKey: .name)
    radiusMetres = try values.decode(Double.self, forKey: .radiusMetres)
    (latitude, longitude) = (try number(.latitude), try number(.longitude))
    (grace, every) = (try number(.grace), try number(.every))
    (speed, accuracy) = (try number(.speed), try number(.accuracy))
  }

  /// Parses a request.
  ///
  /// - Throws: `.wrong` with the mistake
  static func read(_ json: [UInt8]) throws(FenceRefusal) -> FenceOrder {
    try refusing { try JSONDecoder().decode(FenceOrder.self, from: Data(json)) }
  }

  /// Reads a request that may be missing from a larger object.
  ///
  /// - Throws: `.wrong` with the mistake
  static func read<Key>(
    _ key: Key, in values: KeyedDecodingContainer<Key>
  ) throws(FenceRefusal) -> FenceOrder? {
    try refusing { try values.decodeIfPresent(FenceOrder.self, forKey: key) }
  }

  private static func refusing<Result>(_ read: () throws -> Result) throws(FenceRefusal) -> Result {
    do {
      return try read()
    } catch let unknown as RequestKey.Unknown {
      throw .wrong("\(unknown)")
    } catch {
      throw .wrong(
        #"a fence is {"name": "anchor", "radiusMetres": 40}, around the board's position, or with "latitude" and "longitude""#
      )
    }
  }

  /// Whether the centre of the fence is the board's position.
  func isHere() throws(FenceRefusal) -> Bool {
    guard (latitude == nil) == (longitude == nil) else {
      throw .wrong(
        "'latitude' and 'longitude' must be given together; without both the fence is around the board's position")
    }
    return latitude == nil
  }

  /// The fence that the order describes.
  ///
  /// - Parameter here: the board's position, the centre if the order names none
  func fence(about here: Coordinate) -> AddedFence {
    AddedFence(
      name: name, latitude: latitude ?? here.latitudeDegrees, longitude: longitude ?? here.longitudeDegrees,
      radiusMetres: radiusMetres, grace: grace, every: every, speed: speed, accuracy: accuracy)
  }

  /// The request for a position that is accurate enough for the centre of a fence.
  var position: CurrentValue {
    let accuracy = min(20, max(2, radiusMetres / 2))
    return CurrentValue(parts: [.position], maxAge: .seconds(10), accuracyMetres: accuracy)
  }
}

/// The reason why a fence is not added or removed.
enum FenceRefusal: Error, Equatable, CustomStringConvertible {
  /// The request is invalid; the text says why.
  case wrong(String)
  /// The fence belongs to the board file, so a client cannot change it.
  case ofBoardFile(name: String)
  case unknown(name: String, known: [String])
  case full(limit: Int)
  case noReceiver
  /// The board's position could not be determined in time.
  case noPosition

  var description: String {
    switch self {
    case .wrong(let what): return what
    case .ofBoardFile(let name):
      return "the fence '\(Text.printable(name))' is set in the board file: change it there"
    case .unknown(let name, let known):
      let all = known.isEmpty ? "none was added" : "valid ones are \(known.joined(separator: ", "))"
      return "no fence '\(Text.printable(String(name.prefix(40))))' was added while the hub ran; \(all)"
    case .full(let limit): return "there are \(limit) added fences, the maximum: remove one"
    case .noReceiver: return "this board has no receiver for its position: add one to 'devices'"
    case .noPosition:
      return "no position was accurate enough in time: try again under an open sky, or give latitude and longitude"
    }
  }
}

/// The fences that were added while the hub ran. The file keeps them across restarts.
public final class AddedFenceFile: Sendable {
  private let file: StateFile<[StateEntry<AddedFence>]>

  /// - Parameters:
  ///   - path: the file
  ///   - makeFolder: makes the file's folder if it is missing
  public init(path: String, makeFolder: @escaping @Sendable () -> Void) {
    file = StateFile(path: path, mostBytes: 1 << 20, nothing: [], makeFolder: makeFolder)
  }

  /// The saved fences. Each access reads the disk.
  var fences: [AddedFence] { file.content.compactMap(\.value) }

  /// Saves the fences. It waits for the disk, so that the answer to the client can say whether the fence is saved.
  ///
  /// - Returns: whether the fences are saved
  func keep(_ fences: [AddedFence]) -> Bool {
    file.change { $0 = fences.map(StateEntry.init) }
    return self.fences == fences
  }
}
