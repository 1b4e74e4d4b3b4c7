import CLinux
import Glibc
import HardwareIO
import TestSupport
import Testing

/// Folders with checked owners, and files that others plant in them.
struct FolderTests {
  private let temporary = TemporaryFolder("folder")
  private var path: String { temporary.path }
  private var victim: String { "\(path)/victim" }

  init() { HubProcess.write("secret", to: victim) }

  private var victimText: String { (try? Files.bytes(of: victim)).map { String(decoding: $0, as: UTF8.self) } ?? "" }

  private func own(_ name: String = "own", mode: UInt32 = 0o700) throws -> Folder {
    try Folder("\(path)/\(name)", of: .own, makingWith: mode)
  }

  @Test func `a folder is created for its owner only, and used again the next time`() throws {
    let folder = try own()
    #expect(OtherUser.mode(of: folder.path) == 0o700)
    try folder.replace("file", with: Array("one".utf8))
    #expect(try own().bytes(of: "file") == Array("one".utf8))
    #expect(folder.has("file") && !folder.has("other"))
    try folder.replace("file", with: Array("two".utf8), isForAll: true)
    #expect(OtherUser.mode(of: "\(folder.path)/file") == 0o644)
    try folder.rename("file", to: "other")
    folder.remove("other")
    #expect(Files.names(in: folder.path).isEmpty)
  }

  @Test(arguments: [0o770, 0o702, 0o1777] as [UInt32])
  func `a folder that others can write to is refused, with the command that corrects it`(_ mode: UInt32) throws {
    _ = try own()
    #expect(chmod("\(path)/own", mode) == 0)
    let error = #expect(throws: FolderError.self) { try own() }
    #expect(error?.reason == .writable(mode: mode) && error?.nextStep == "chmod go-w '\(path)/own'")
    // The owner of the machine chooses the folder for recordings.
    _ = try Folder("\(path)/own", of: .anyone)
  }

  @Test func `planted files are not read, written, truncated or made readable for all`() throws {
    let folder = try own()
    for name in ["file", "lock", "socket"] { #expect(symlink(victim, "\(folder.path)/\(name)") == 0) }
    #expect(chmod(victim, 0o600) == 0)
    #expect(throws: Files.Errno.self) { try folder.bytes(of: "file") }
    #expect(throws: Files.Errno.self) { try folder.open("file", O_RDWR | O_CREAT | O_TRUNC) }
    #expect(throws: Files.Errno.self) { try folder.lock("lock") }
    #expect(throws: Files.Errno.self) { try folder.openToAll(socket: "socket") }
    // The link itself is replaced.
    try folder.replace("file", with: Array("new".utf8), isForAll: true)
    #expect(try folder.bytes(of: "file") == Array("new".utf8))
    #expect(victimText == "secret" && OtherUser.mode(of: victim) == 0o600)
    // A hard link is another name of the same file, so the file's mode would be changed and the file locked.
    #expect(link(victim, "\(folder.path)/hard") == 0)
    #expect(throws: Files.Errno.self) { try folder.lock("hard") }
    #expect(throws: Files.Errno.self) { try folder.openToAll(socket: "hard") }
    mkfifo("\(folder.path)/pipe", 0o600)
    #expect(throws: Files.Errno.self) { try folder.bytes(of: "pipe") }
    for name in ["../victim", "..", ".", ""] { #expect(throws: Files.Errno.self) { try folder.bytes(of: name) } }
    #expect(victimText == "secret" && OtherUser.mode(of: victim) == 0o600)
  }

  @Test func `what a power cut left of a write goes with the next write, and what others are writing stays`() throws {
    let folder = try own()
    // No process has a number this high (the kernel's limit is 2^22).
    let (old, future, recent) = ("file.99999999.new", "file.99999998.new", "file.99999997.new")
    let (living, other) = ("file.\(getppid()).new", "file.txt.99999999.new")
    for name in [old, future, recent, living, other] { HubProcess.write("half", to: "\(folder.path)/\(name)") }
    func date(_ name: String, _ seconds: Int) {
      let instant = timespec(tv_sec: time(nil) + seconds, tv_nsec: 0)
      var times = [instant, instant]
      #expect(utimensat(AT_FDCWD, "\(folder.path)/\(name)", &times, 0) == 0)
    }
    for name in [old, living, other] { date(name, -3600) }
    date(future, 86_400)
    try folder.replace("file", with: Array("whole".utf8))
    #expect(Files.names(in: folder.path) == ["file", living, recent, other].sorted())
  }

  @Test func `an open folder stays the same when its path leads elsewhere`() throws {
    let folder = try own()
    try folder.replace("file", with: Array("mine".utf8))
    #expect(rename("\(path)/own", "\(path)/moved") == 0)
    #expect(mkdir("\(path)/other", 0o700) == 0 && symlink("\(path)/other", "\(path)/own") == 0)
    try folder.replace("second", with: [1])
    #expect(Files.names(in: "\(path)/moved") == ["file", "second"])
    #expect(Files.names(in: "\(path)/other").isEmpty)
  }

  @Test func `one process holds the lock, whose file other users cannot open`() throws {
    let folder = try own()
    let lock = try #require(try folder.lock("lock"))
    #expect(OtherUser.mode(of: "\(folder.path)/lock") == 0o600)
    #expect(try folder.lock("lock") == nil)
    close(lock)
    let next = try #require(try folder.lock("lock"))
    close(next)
    // An older version made this lock file readable for all.
    #expect(chmod("\(folder.path)/lock", 0o644) == 0)
    let old = try #require(try folder.lock("lock"))
    #expect(OtherUser.mode(of: "\(folder.path)/lock") == 0o600)
    close(old)
  }

  @Test func `a link of the same user is followed, and the folder that it leads to is checked`() throws {
    let folder = try own()
    #expect(symlink("own", "\(path)/link") == 0)
    let linked = try Folder("\(path)/link", of: .own)
    try linked.replace("file", with: [1])
    #expect(folder.has("file"))
    #expect(chmod(folder.path, 0o777) == 0)
    #expect(throws: FolderError.self) { try Folder("\(path)/link", of: .own) }
    #expect(symlink("circle", "\(path)/circle") == 0)
    #expect(throws: FolderError.self) { try Folder("\(path)/circle", of: .own) }
    #expect(throws: FolderError.self) { try Folder(victim, of: .own) }
    let missing = #expect(throws: FolderError.self) { try Folder("\(path)/nothing", of: .own) }
    #expect(missing?.isMissing == true)
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `files and folders of another user are not trusted`() throws {
    try RootRights.require()
    let folder = try own()
    try folder.replace("file", with: [1])
    #expect(OtherUser.give("\(folder.path)/file"))
    let file = #expect(throws: Files.Errno.self) { try folder.bytes(of: "file") }
    #expect(file.map { "\($0)".contains("belongs to user \(OtherUser.mallory)") } == true)
    _ = try folder.lock("lock").map { close($0) }
    #expect(OtherUser.give("\(folder.path)/lock"))
    #expect(throws: Files.Errno.self) { try folder.lock("lock") }
    #expect(OtherUser.give(folder.path))
    let error = #expect(throws: FolderError.self) { try own() }
    #expect(error?.reason == .foreign(user: OtherUser.mallory))
    #expect(OtherUser.give(folder.path, to: 0))
    #expect(symlink("own", "\(path)/link") == 0 && OtherUser.give("\(path)/link"))
    let linked = #expect(throws: FolderError.self) { try Folder("\(path)/link", of: .trusted) }
    #expect(linked?.reason == .link(ofUser: OtherUser.mallory))
  }
}
