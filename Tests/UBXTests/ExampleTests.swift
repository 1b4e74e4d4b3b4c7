import TestSupport
import Testing
import UBX

/// The examples of the library's pages (`Examples`) behave as the pages describe.
struct ExampleTests {
  private let solution = MadeMessage.navPVT(
    timeOfWeekMilliseconds: 0, latitudeDegrees: 52.5, longitudeDegrees: 13.25, second: 0)

  @Test func `solutions are found between sentences, even if a read cuts them`() {
    var framer = BinaryFramer()
    let bytes = Array("$GPTXT,noise*00\r\n".utf8) + solution + Array("$GP".utf8)
    #expect(solutions(in: Array(bytes.prefix(40)), of: &framer).isEmpty)
    let found = solutions(in: Array(bytes.dropFirst(40)), of: &framer)
    #expect(found.map(\.latitudeDegrees) == [52.5])
    #expect(found.map(\.horizontalAccuracyMetres) == [1.5])
    #expect(found.map(\.isRTKFixed) == [false])
  }

  @Test(arguments: [(0x0501, FastSolutions.State.accepted), (0x0500, .refused)] as [(UInt16, FastSolutions.State)])
  func `the answer to the settings counts, and other messages do not`(_ kind: UInt16, _ state: FastSolutions.State) {
    var conversation = FastSolutions()
    let request = conversation.request.bytes
    #expect(request.starts(with: [0xB5, 0x62, 0x06, 0x8A]))
    // An answer to CFG-RST, and a solution.
    conversation.take(MadeMessage.ubx(0x0501, [0x06, 0x04]) + solution)
    let before = conversation.state
    #expect(before == .waiting)
    conversation.take(MadeMessage.ubx(kind, [0x06, 0x8A]))
    let after = conversation.state
    #expect(after == state)
  }

  @Test func `the settings are five, each with the size of its key`() {
    // A head, and then each key with its value: two bytes for the interval, one for a port or a rate.
    let payload = FastSolutions().request.payload
    #expect(payload.count == 4 + (4 + 2) + 4 * (4 + 1))
  }

  @Test func `the documentation shows the examples as they are compiled`() {
    let pages = LibraryPages(of: "UBX")
    #expect(pages.shown == pages.compiled)
    #expect(pages.shown.count == 2)
  }
}
