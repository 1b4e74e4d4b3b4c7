/// Divides a client's bytes into requests: `?POLL;`, `?WATCH={…}`, with or without semicolon, line end or blanks,
/// however the bytes are divided into packets. gpsd also answers requests whose object lacks its closing brace. Such an
/// object ends at a line end, if the packet ends there or another request follows.
struct GPSDRequests {
  struct Request: Equatable {
    /// The name, for example `WATCH`; empty if this is not a request.
    var name: String
    /// The object after the equals sign.
    var object: [UInt8]?
  }

  /// The longest request in bytes; gpsd has the same limit.
  static let maximumLength = 4096

  private var pending: [UInt8] = []
  /// The scan of an incomplete object. It looks at each byte once, even if the bytes arrive in small pieces.
  private var scan: ObjectScan?

  /// Adds the next bytes. Returns the requests that they complete.
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Request] {
    pending += bytes
    let isLineEnd = bytes.last == UInt8(ascii: "\n")
    let hasEnded = scan?.end(in: pending[...]) != nil || isLineEnd
    if scan != nil, !hasEnded, pending.count <= GPSDRequests.maximumLength { return [] }
    var requests: [Request] = []
    var rest = pending[...]
    while let request = GPSDRequests.next(&rest, isLineEnd) { requests.append(request) }
    pending = Array(rest)
    scan = GPSDRequests.object(of: pending[...]).map { ObjectScan(index: $0.startIndex) }
    if pending.count > GPSDRequests.maximumLength {
      pending = []
      scan = nil
      requests.append(Request(name: "", object: nil))
    }
    return requests
  }

  private static let separators = Array("; \t\r\n".utf8)

  /// Takes a request off the front; `nil` if no request is complete.
  ///
  /// - Parameter isLineEnd: whether the client's last packet ends with a line end
  private static func next(_ bytes: inout ArraySlice<UInt8>, _ isLineEnd: Bool) -> Request? {
    bytes = bytes.drop { separators.contains($0) }
    guard let first = bytes.first else { return nil }
    guard first == UInt8(ascii: "?") else {
      // This is not a request, so skip everything up to the possible beginning of one.
      guard let end = bytes.firstIndex(where: { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "\n") }) else {
        return nil
      }
      bytes = bytes[(end + 1)...]
      return Request(name: "", object: nil)
    }
    let afterName = bytes.dropFirst().drop { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xdf }
    let name = String(decoding: bytes[bytes.startIndex + 1..<afterName.startIndex], as: UTF8.self).uppercased()
    guard let next = afterName.first else { return nil }
    guard next == UInt8(ascii: "=") else {
      bytes = afterName
      if separators.contains(next) || next == UInt8(ascii: "?") { return Request(name: name, object: nil) }
      bytes = bytes.dropFirst()
      return Request(name: "", object: nil)
    }
    let object = afterName.dropFirst().drop { separators.dropFirst().contains($0) }
    guard let brace = object.first else { return nil }
    guard brace == UInt8(ascii: "{") else {
      bytes = object
      return Request(name: "", object: nil)
    }
    var scan = ObjectScan(index: object.startIndex)
    guard let end = scan.end(in: object) ?? (isLineEnd ? object.endIndex : nil) else { return nil }
    bytes = object[end...]
    return Request(name: name, object: Array(object[..<end]))
  }

  /// The object of the request at the start of `bytes`, from its brace on.
  private static func object(of bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard bytes.first == UInt8(ascii: "?") else { return nil }
    let afterName = bytes.dropFirst().drop { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 & 0xdf }
    guard afterName.first == UInt8(ascii: "=") else { return nil }
    let object = afterName.dropFirst().drop { separators.dropFirst().contains($0) }
    return object.first == UInt8(ascii: "{") ? object : nil
  }

  /// Finds the end of an object.
  private struct ObjectScan {
    /// The index of the next byte to look at.
    var index: Int
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    init(index: Int) { self.index = index }

    /// Returns the index after the closing brace. If a request on a new line shows that the brace is missing, returns
    /// the index of that request. Returns `nil` if the bytes contain neither; call again with more bytes. Braces in
    /// strings do not count.
    mutating func end(in bytes: ArraySlice<UInt8>) -> Int? {
      while index < bytes.endIndex {
        let byte = bytes[index]
        if byte == UInt8(ascii: "?"), bytes[index - 1] == UInt8(ascii: "\n") { return index }
        index += 1
        if isInString {
          if isEscaped {
            isEscaped = false
          } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
          } else if byte == UInt8(ascii: "\"") {
            isInString = false
          }
          continue
        }
        switch byte {
        case UInt8(ascii: "\""): isInString = true
        case UInt8(ascii: "{"): depth += 1
        case UInt8(ascii: "}"):
          depth -= 1
          if depth == 0 { return index }
        default: break
        }
      }
      return nil
    }
  }
}
