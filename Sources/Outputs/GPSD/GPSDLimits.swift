import Devices
import NMEA

/// The limits of libgps (`gps.h` and `gps_json.h` of gpsd 3.22). Its clients end the connection if a line or list is
/// longer.
enum GPSDLimits {
  /// The longest line, including its end (GPS_JSON_RESPONSE_MAX).
  static let lineBytes = 10_240
  /// The maximum number of satellites in a SKY (MAXCHANNELS); gpsd has the same limit.
  static let satellites = 140
  /// The maximum number of devices in a DEVICES (MAXUSERDEVS).
  static let devices = 4
  /// The longest subtype or device path (GPS_PATH_MAX).
  private static let textBytes = 127

  /// The text, cut to the longest subtype or path.
  static func shortened(_ text: String) -> String { head(of: text, bytes: textBytes) }

  /// The name of a device: its path, shortened in the middle if it is too long for clients. A link below
  /// /dev/serial/by-id may be that long, and its end distinguishes it from similar links.
  static func path(_ path: String) -> String {
    guard path.utf8.count > textBytes else { return path }
    let mark = "..."
    let half = (textBytes - mark.utf8.count) / 2
    var tail = path.unicodeScalars.suffix(half)
    while String(tail).utf8.count > half { tail.removeFirst() }
    return head(of: path, bytes: half) + mark + String(tail)
  }

  private static func head(of text: String, bytes: Int) -> String {
    var head = text.unicodeScalars.prefix(bytes)
    while String(head).utf8.count > bytes { head.removeLast() }
    return String(head)
  }

  /// The indices of the satellites to list if there is no room for all, in ascending order. The used ones are chosen
  /// first, then the strongest ones; `nil` if there is room for all.
  ///
  /// - Parameter room: the bytes that the list may take
  static func listed(_ sky: Sky, room: Int, byteCount: (Int) -> Int) -> [Int]? {
    // No satellite takes more than 96 bytes.
    if sky.count <= satellites, sky.count * 96 <= room { return nil }
    let ranked = (0..<sky.count).sorted { a, b in
      if sky[a].isUsed != sky[b].isUsed { return sky[a].isUsed }
      if sky[a].signalStrength != sky[b].signalStrength { return sky[a].signalStrength > sky[b].signalStrength }
      return a < b
    }
    var (chosen, taken): ([Int], Int) = ([], 0)
    for index in ranked.prefix(satellites) {
      // The additional byte is the comma.
      taken += byteCount(index) + 1
      if taken > room { break }
      chosen.append(index)
    }
    return chosen.sorted()
  }
}
