import Glibc
import HardwareIO
import TestSupport
import Testing

/// The effects of `make run` and `make test` on a machine that lacks packages: a machine of scripts, which note their
/// requests.
@Suite(.timeLimit(.minutes(10)))
final class PackagesTests {
  private let temporary = TemporaryFolder("packages")
  private var folder: String { temporary.path }

  init() {
    // The test machine waits for locks, and is told to start no service.
    HubProcess.write(
      """
      #!/bin/sh
      name=${0##*/}
      [ "$name" != sudo ] || exec "$@"
      echo "$name $*" >>\(folder)/log
      case "$name $*" in
        'dpkg-query -W '*) [ ! -e \(folder)/installed ] || echo install ok installed ;;
        'dpkg-query -L '*)
          echo /lib/systemd/system/gpsd.service
          echo /lib/systemd/system/gpsd.socket
          echo /lib/systemd/system/gpsdctl@.service ;;
        'apt-get '*' install -s '*) echo 'Inst gpsd (3.22-4 Debian:12 [amd64])' ;;
        'apt-get '*' install '*) touch \(folder)/installed ;;
        'install '*) cat >\(folder)/policy ;;
        'systemctl is-enabled gpsd.socket') echo enabled ;;
        'systemctl is-enabled '*) echo static ;;
      esac
      """, to: folder + "/fake")
    chmod(folder + "/fake", 0o755)
    for name in ["apt-get", "dpkg-query", "systemctl", "sudo", "flock", "install", "rm", "swift"] {
      symlink("fake", folder + "/" + name)
    }
  }

  private func command(_ words: String) -> [String] {
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    return [
      "-u", "CI", "-u", "YES", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "PATH=\(folder):\(path)", "sh", "-c",
      "cd \(SharedData.packageFolder) && \(words)",
    ]
  }

  /// Runs a command without a user at the terminal.
  private func run(_ words: String) -> Program {
    let program = Program(command(words), path: "/usr/bin/env")
    program.wait()
    return program
  }

  /// Runs a command and types a text like a user.
  private func run(_ words: String, typing text: String) -> Program {
    let quoted = command(words).map { "'\($0)'" }.joined(separator: " ")
    let program = Program(
      ["-qefc", "/usr/bin/env \(quoted)", "/dev/null"], path: "/usr/bin/script", input: Array(text.utf8))
    program.wait()
    return program
  }

  /// The requests to the simulated machine.
  private var log: [String] {
    let bytes = (try? Files.bytes(of: folder + "/log")) ?? []
    return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
  }

  private var hasInstalled: Bool { access(folder + "/installed", F_OK) == 0 }

  @Test(arguments: ["n\n", "no\n", "quit\n"])
  func `a user at a terminal is asked before packages are installed, and may refuse`(_ answer: String) {
    let program = run(".ci/packages gpsd tmux", typing: answer)
    #expect(program.wait() == 77, "\(program.standardOutput)")
    #expect(program.standardOutput.contains("To be installed: gpsd tmux. Go on? [Y/n]"), "\(program.standardOutput)")
    #expect(program.standardOutput.contains("nothing was installed; this needs gpsd tmux"), "\(program.standardOutput)")
    #expect(log.allSatisfy { $0.hasPrefix("dpkg-query -W") }, "\(log)")
  }

  @Test func `make run lists the packages to install, and ends if the user refuses`() {
    let program = run("make run", typing: "n\n")
    #expect(program.wait() != 0)
    #expect(program.standardOutput.contains("To be installed: libi2c-dev libgpiod-dev"), "\(program.standardOutput)")
    #expect(!hasInstalled)
    #expect(!log.contains { $0.hasPrefix("swift build") || $0.hasPrefix("apt-get") }, "\(log)")
  }

  @Test(arguments: ["\n", "y\n", "Yes\n"])
  func `a user who agrees gets the packages, but no service that starts with the machine`(_ answer: String) {
    let program = run(".ci/packages gpsd tmux", typing: answer)
    #expect(program.wait() == 0, "\(program.standardOutput)")
    #expect(program.standardOutput.contains("installing gpsd tmux"), "\(program.standardOutput)")
    #expect(hasInstalled)
    // Only the conflicting socket is disabled: gpsd's would be at port 2947.
    #expect(log.filter { $0.hasPrefix("systemctl disable") } == ["systemctl disable --quiet gpsd.socket"], "\(log)")
  }

  @Test(arguments: [".ci/packages gpsd", "YES=1 .ci/packages gpsd"])
  func `without a terminal no question is asked`(_ words: String) {
    let program = words.hasPrefix("YES") ? run(words, typing: "") : run(words)
    #expect(program.wait() == 0, "\(program.standardOutput) \(program.standardError)")
    #expect(!(program.standardOutput + program.standardError).contains("Go on?"))
    #expect(hasInstalled)
    // During an installation nothing may be started. Afterwards everything may, unless another policy existed before.
    if access("/usr/sbin/policy-rc.d", F_OK) != 0 {
      #expect(log.contains { $0.hasPrefix("install -m 755 ") && $0.hasSuffix(" /usr/sbin/policy-rc.d") }, "\(log)")
      #expect(log.last { $0.hasPrefix("rm ") } == "rm -f /usr/sbin/policy-rc.d", "\(log)")
      let policy = (try? Files.bytes(of: folder + "/policy")) ?? []
      #expect(
        policy.starts(with: "#!/bin/sh\n".utf8) && String(decoding: policy, as: UTF8.self).hasSuffix("\nexit 101\n"))
    }
  }

  @Test func `an installed package is neither offered nor installed`() {
    HubProcess.write("", to: folder + "/installed")
    let program = run(".ci/packages gpsd tmux", typing: "")
    #expect(program.wait() == 0)
    #expect(program.standardOutput.isEmpty, "\(program.standardOutput)")
    #expect(log.allSatisfy { $0.hasPrefix("dpkg-query -W") }, "\(log)")
  }
}
