import Devices
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// Receivers' knowledge from a damaged file.
struct ReceiverKnowledgeFileTests {
  private static func entry(
    savedAt: String = "1780000000000000000", latitude: String = "54.1", longitude: String = "10.2",
    altitude: String = "45", sigma: String = "20", database: String = "[[1, 2, 3]]"
  ) -> String {
    """
    { "receiver": "u-blox M8", "savedAt": \(savedAt), "isInFlash": false, "database": \(database),
      "place": { "latitudeDegrees": \(latitude), "longitudeDegrees": \(longitude), "altitudeHAEMetres": \(altitude),
        "sigmaMetres": \(sigma) } }
    """
  }

  private let folder = TemporaryFolder("receiver-knowledge")

  private static let tooLong = "[[" + Array(repeating: "1", count: 70_000).joined(separator: ",") + "]]"

  @Test(arguments: [
    entry(savedAt: "-9223372036854775808"), entry(latitude: "91"), entry(latitude: "1e300"), entry(longitude: "-181"),
    entry(altitude: "1e200"), entry(sigma: "-1"), entry(sigma: "1e300"), entry(database: tooLong),
    entry(database: "[[]]"), entry(database: "[[256]]"), "7", "{}",
  ])
  func `an entry that no receiver can have sent is skipped, and all others are kept`(_ damaged: String) {
    let path = "\(folder.path)/receivers.json"
    HubProcess.write("{ \"roof\": \(damaged), \"gps\": \(Self.entry()) }", to: path)
    let store = ReceiverKnowledgeStore()
    ReceiverKnowledgeFile(path: path) {}.begin(store, clock: ManualClock())
    #expect(Array(store.present.value.keys) == ["gps"])
    #expect(store.present.value["gps"]?.place.latitudeDegrees == 54.1)
  }
}
