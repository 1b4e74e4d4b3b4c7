import Glibc
import Hub
import TestSupport
import Testing

@testable import Recording

/// The errors of recording on a machine.
struct RecordingSetupErrorTests {
  private let folder = RecordingFolder()

  private func setupError(_ path: String, megabytes: Int = 4) -> RecordingSetupError? {
    RecordingSetupError.find(for: RecordSettings(path: path, maximumMegabytes: megabytes))
  }

  @Test func `a folder that exists or can be made is not an error, and the check does not make it`() {
    #expect(setupError(folder.path) == nil)
    #expect(access(folder.path, F_OK) != 0)
    mkdir(folder.path, 0o755)
    #expect(setupError(folder.path) == nil)
  }

  @Test func `a folder whose parent is missing is an error`() {
    #expect(setupError("\(folder.path)/recordings") == .missing(folder: "\(folder.path)/"))
    #expect(setupError("\(folder.path)/recordings")?.description.hasSuffix("mkdir -p \(folder.path)/") == true)
  }

  @Test func `a folder that this user cannot write to is an error`() async {
    let path = folder.path
    mkdir(path, 0o555)
    // The folder above it is the test user's own.
    chmod("\(path)/..", 0o755)
    let error = await UnprivilegedThread.run {
      RecordingSetupError.find(for: RecordSettings(path: path, maximumMegabytes: 4))
    }
    #expect(error == .notWritable(folder: path, errno: EACCES))
  }

  @Test func `a budget larger than the disk is an error that states the disk's size`() throws {
    mkdir(folder.path, 0o755)
    var status = statvfs()
    try #require(statvfs(folder.path, &status) == 0)
    let all = UInt64(status.f_blocks) * UInt64(status.f_frsize)
    let wanted = all / 1_000_000 + 1
    #expect(
      setupError(folder.path, megabytes: Int(wanted))
        == .diskTooSmall(path: folder.path, byteCount: all, wanted: wanted * 1_000_000))
    // Space used by other files is not free, however large the disk.
    if case .tooLittleFree(folder.path, let free, let most)? = setupError(folder.path, megabytes: Int(wanted) - 1) {
      #expect(free < most)
    } else {
      Issue.record("no other file takes space on this disk")
    }
  }
}
