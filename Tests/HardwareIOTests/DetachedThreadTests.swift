import Guarding
import HardwareIO
import TestSupport
import Testing

struct DetachedThreadTests {
  @Test(
    .timeLimit(.minutes(10)),
    arguments: [("gps", "gps"), ("a receiver's session", "a receiver's se"), ("empfänger-weiß", "empfänger-wei")])
  func `the name of a thread is cut between two characters`(_ name: String, _ shown: String) async {
    let names = Recorder<String>()
    let error = DetachedThread.start(name) {
      let line = (try? Files.bytes(of: "/proc/thread-self/comm")) ?? []
      names.append(String(decoding: line.dropLast(), as: UTF8.self))
    }
    #expect(error == 0)
    #expect(await names.first(1) == [shown])
  }
}
