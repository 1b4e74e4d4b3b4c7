import FoundationEssentials
import Hub

/// Divides the bytes of a client of `hub.sock` into requests. Each request is a JSON object in one line, for example
/// `{"rateHz": 5, "parts": ["attitude"], "name": "watch"}`.
struct StateRequests {
  struct Request: Decodable {
    /// The requested view of the state; empty if the request does not name one.
    var view = ViewRequest()
    var name: String?
    /// The kind of calibration to run instead of sending states, and the device to calibrate.
    var calibrate: String?
    var device: String?
    /// The value `all` ends the slots of all users in the hub.
    var release: String?
    /// The fence to add.
    var fence: FenceOrder?
    var removeFence: String?
    /// The value `list` requests the present state of all fences.
    var fences: String?

    var asksForFences: Bool { fence != nil || removeFence != nil || fences != nil }

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case name, calibrate, device, release, fence, removeFence, fences
    }

    init(from decoder: any Decoder) throws {
      let wanted = try ViewRequest.Values(from: decoder, besides: CodingKeys.allCases.map(\.rawValue))
      let values = try decoder.container(keyedBy: CodingKeys.self)
      name = try values.decodeIfPresent(String.self, forKey: .name)
      calibrate = try values.decodeIfPresent(String.self, forKey: .calibrate)
      device = try values.decodeIfPresent(String.self, forKey: .device)
      release = try values.decodeIfPresent(String.self, forKey: .release)
      fence = try FenceOrder.read(.fence, in: values)
      removeFence = try values.decodeIfPresent(String.self, forKey: .removeFence)
      fences = try values.decodeIfPresent(String.self, forKey: .fences)
      view = try ViewRequest(wanted)
    }
  }

  /// The longest request, in bytes.
  static let maximumLength = 4096

  private var pending: [UInt8] = []
  /// Whether the rest of a line that is too long still arrives.
  private var isSkipping = false

  /// The result of reading a line.
  enum Line {
    case request(Request)
    /// The request is invalid; the text says why.
    case refused(String)
    case none

    var request: Request? {
      if case .request(let request) = self { request } else { nil }
    }
  }

  /// Adds the next bytes.
  ///
  /// - Returns: the requests of the lines that they complete. A line that is too long is refused once, as soon as its
  ///   length is known
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Line] {
    pending += bytes
    let parts = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    var lines: [Line] = []
    for (index, part) in parts.enumerated() {
      let isComplete = index < parts.count - 1
      if part.count > StateRequests.maximumLength, !isSkipping {
        lines.append(.refused("a line may have at most \(StateRequests.maximumLength) bytes"))
        isSkipping = true
      } else if isComplete, !part.isEmpty, !isSkipping {
        lines.append(StateRequests.request(part))
      }
      if isComplete { isSkipping = false } else { pending = isSkipping ? [] : Array(part) }
    }
    return lines
  }

  private static func request(_ line: ArraySlice<UInt8>) -> Line {
    let request: Request
    do {
      request = try JSONDecoder().decode(Request.self, from: Data(line))
    } catch let unknown as RequestKey.Unknown {
      return .refused("\(unknown)")
    } catch let mistake as ViewRequest.Mistake {
      return .refused("\(mistake)")
    } catch let refusal as FenceRefusal {
      return .refused("\(refusal)")
    } catch let ambiguous as RequestKey.Ambiguous {
      return .refused("\(ambiguous)")
    } catch {
      return .none
    }
    if let kind = request.calibrate, CalibrationKind(rawValue: kind) == nil {
      return .refused("'calibrate' must be \(CalibrationKind.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    if let release = request.release, release != "all" { return .refused("'release' must be \"all\"") }
    if let fences = request.fences, fences != "list" { return .refused("'fences' must be \"list\"") }
    return .request(request)
  }
}
