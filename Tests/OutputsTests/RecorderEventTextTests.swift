import Glibc
import MCAP
import Recording
import Testing

@testable import Outputs

/// The log lines about the recorder.
struct RecorderEventTextTests {
  private func line(_ error: MCAPError) -> String { RecorderEvent.failed(error).line("/disk/recordings").text }

  @Test func `the advice to create a folder is only given if a folder is missing`() {
    let advice = "create the folders above it"
    #expect(line(.system("making the folder /disk/recordings", errno: ENOENT)).contains(advice))
    #expect(!line(.system("the segment sensorhub-1.mcap was removed", errno: ENOENT)).contains(advice))
  }
}
