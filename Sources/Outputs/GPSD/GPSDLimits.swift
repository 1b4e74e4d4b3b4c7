import Devices
import NMEA

/// What libgps has room for (`gps.h` and `gps_json.h` of gpsd 3.22): of a longer line or list its clients end the connection.
enum GPSDLimits {
  /// The longest line, its end included (GPS_JSON_RESPONSE_MAX).
  static let lineBytes = 10_240
  /// In a SKY (MAXCHANNELS); gpsd stops there as well.
  static let satellites = 140
  /// In a DEVICES (MAXUSERDEVS).
  static let devices = 4
  /// Of a subtype, and of a device's path (GPS_PATH_MAX).
  private static let textBytes = 127

  /// The part of a text for which there is room.
  static func shortened(_ text: String) -> String { head(of: text, bytes: textBytes) }

  /// What stands for a device: its path, from the middle of which is left out what clients have no room for. A link below
  /// /dev/serial/by-id may be longer, and differs from others' at its end.
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

  /// Which satellites are listed where not all can be: those in use first, and then those that are received best; `nil` for all.
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
      // And its comma.
      taken += byteCount(index) + 1
      if taken > room { break }
      chosen.append(index)
    }
    return chosen.sorted()
  }
}
