import Glibc
import MCAP
import Recording
import Testing

@testable import Outputs

/// The log lines about the recorder.
struct RecorderEventTextTests {
  private func line(_ error: MCAPError) -> String { RecorderEvent.failed(error).line("/disk/recordings").text }

  @Test func `a client that has to make a folder is told so, and not one that has removed it`() {
    let advice = "create the folders above it"
    #expect(line(.system("making the folder /disk/recordings", errno: ENOENT)).contains(advice))
    #expect(!line(.system("the segment sensorhub-1.mcap was removed", errno: ENOENT)).contains(advice))
  }
}
