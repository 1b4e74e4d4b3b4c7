import Glibc
import HardwareIO
import TestSupport
import Testing

/// The checks of a board that `deploy.sh` makes before it changes it, with an ssh that answers like boards do.
@Suite(.timeLimit(.minutes(10)))
final class DeployTests {
  private let temporary = TemporaryFolder("deploy")
  private var folder: String { temporary.path }

  init() {
    // The first command reads the facts about the board. In these tests `deploy.sh` must run no further command on the
    // board.
    HubProcess.write(
      """
      #!/bin/sh
      for last; do :; done
      case $last in
        'id -u;'*) cat \(folder)/facts ;;
        *@board.invalid) ;;
        *) echo "$last" >>\(folder)/touched ;;
      esac
      """, to: folder + "/ssh")
    chmod(folder + "/ssh", 0o755)
  }

  /// - Parameters:
  ///   - model: the model; empty for a machine without a device tree
  ///   - current: the release in service, as `releases/ID`; empty for none
  private func deploy(
    _ arguments: [String], architecture: String = "arm64", kernel: String = "aarch64", release: String = "trixie",
    model: String = "Raspberry Pi 4 Model B Rev 1.4", root: String = "ext4 rw,noatime", current: String = "",
    temporary: String = "/tmp"
  ) -> Program {
    let facts = ["1000", architecture, kernel, release, model, root, "", current]
    HubProcess.write(facts.joined(separator: "\n") + "\n", to: folder + "/facts")
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
    // No host has this name, in case another ssh is used after all.
    let program = Program(
      [
        "PATH=\(folder):\(path)", "TMPDIR=\(temporary)", "bash", SharedData.packageFolder + "/deploy.sh",
        "pi@board.invalid",
      ] + arguments,
      path: "/usr/bin/env")
    program.wait()
    #expect(access(folder + "/touched", F_OK) != 0, "the board was touched")
    return program
  }

  @Test func `control characters in a board's model name do not reach the terminal`() {
    let program = deploy(["--dry-run"], model: "Raspberry Pi 4\u{1b}[2J\u{9b}1m\u{202e} B\u{7}")
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.standardOutput.contains("Raspberry Pi 4[2J1m B"), "\(program.standardOutput.debugDescription)")
    let said = program.standardOutput + program.standardError
    #expect(said.unicodeScalars.allSatisfy { $0 == "\n" || (" "..."~").contains($0) }, "\(said.debugDescription)")
  }

  @Test(arguments: [
    ("armhf", "aarch64", "Raspberry Pi 4 Model B Rev 1.4", "write 'Raspberry Pi OS (64-bit)' to its card"),
    ("armhf", "armv7l", "Raspberry Pi 3 Model B Rev 1.2", "write 'Raspberry Pi OS (64-bit)' to its card"),
    ("armhf", "armv6l", "Raspberry Pi Zero W Rev 1.1", "which its processor (armv6l) cannot do: take a Raspberry Pi 3"),
    ("i386", "x86_64", "", "install Debian for amd64"),
  ])
  func `deploy refuses a 32-bit system and says that it needs a 64-bit one`(
    _ architecture: String, _ kernel: String, _ model: String, _ nextStep: String
  ) {
    let program = deploy([], architecture: architecture, kernel: kernel, model: model)
    #expect(program.wait() == 69)
    #expect(
      program.standardError.contains("runs a 32-bit system (\(architecture)), and SensorHub needs a 64-bit one"),
      "\(program.standardError)")
    #expect(program.standardError.contains(nextStep), "\(program.standardError)")
  }

  @Test(arguments: [
    ("Raspberry Pi 5 Model B Rev 1.0", "raspberry-pi-5"), ("Raspberry Pi 4 Model B Rev 1.4", "raspberry-pi-4"),
    ("Raspberry Pi 3 Model B Plus Rev 1.3", "raspberry-pi-3"),
    ("Raspberry Pi Zero 2 W Rev 1.0", "raspberry-pi-zero-2-w"),
    ("Raspberry Pi Compute Module 4 Rev 1.1", "raspberry-pi-compute-module"),
    ("Raspberry Pi Compute Module 5 Rev 1.0", "raspberry-pi-compute-module"),
  ])
  func `deploy gives a Raspberry Pi its own board file`(_ model: String, _ file: String) {
    let program = deploy(["--dry-run"], model: model)
    #expect(program.wait() == 0, "\(program.standardError)")
    #expect(program.standardOutput.contains("with boards/\(file).json5"), "\(program.standardOutput)")
  }

  @Test func `deploy keeps a board's board file unless another one is named`() {
    let kept = deploy(["--dry-run"], current: "releases/0123456789ab")
    #expect(kept.wait() == 0, "\(kept.standardError)")
    #expect(kept.standardOutput.contains("with the board file that is there"), "\(kept.standardOutput)")
    let named = deploy(
      ["--dry-run", "--board", SharedData.packageFolder + "/boards/pc-usb.json5"], current: "releases/0123456789ab")
    #expect(named.standardOutput.contains("boards/pc-usb.json5;"), "\(named.standardOutput)")
    // The command works on any machine.
    #expect(deploy(["--dry-run"], model: "", current: "releases/0123456789ab").wait() == 0)
  }

  @Test(arguments: [["--board", "boards"], ["--board", "nowhere/x.json5"], ["--executable", "nowhere/sensorhub"]])
  func `deploy reports an invalid board file before it asks the board anything`(_ arguments: [String]) {
    let program = deploy(arguments)
    #expect(program.wait() == 66, "\(program.standardError)")
    let what = arguments[0] == "--board" ? "there is no board file '" : "there is no executable '"
    #expect(program.standardError.hasPrefix("deploy.sh: \(what)"), "\(program.standardError)")
    #expect(!program.standardOutput.contains("looking at"), "\(program.standardOutput)")
  }

  @Test func `deploy needs a board file for a machine that it does not know`() {
    let program = deploy(["--dry-run"], architecture: "amd64", kernel: "x86_64", model: "")
    #expect(program.wait() == 64)
    #expect(program.standardError.contains("no board file is known for 'this machine'"), "\(program.standardError)")
  }

  @Test(arguments: [[], ["--rollback"], ["--uninstall"]])
  func `deploy reports a read-only or volatile root file system`(_ action: [String]) {
    func deployed(_ root: String) -> Program {
      deploy(["--dry-run"] + action, root: root, current: "releases/0123456789ab")
    }
    for options in ["ext4 ro,noatime", "ext4 ro"] {
      let program = deployed(options)
      #expect(program.wait() == 73)
      #expect(program.standardError.contains("sudo mount -o remount,rw /"), "\(program.standardError)")
    }
    let program = deployed("overlay rw,lowerdir=/lower")
    #expect(program.wait() == 0)
    #expect(program.standardOutput.contains("sudo raspi-config nonint do_overlayfs 1"), "\(program.standardOutput)")
    #expect(!deployed("ext4 rw,errors=remount-ro").standardOutput.contains("warning"))
  }

  @Test func `deploy does not build on the board, and says what to do instead`() {
    let program = deploy(["--build-on-target"])
    #expect(program.wait() == 64)
    #expect(program.standardError.contains("give what comes of it with --executable"), "\(program.standardError)")
  }

  #if !arch(arm64)
    @Test(arguments: ["bookworm", "trixie"])
    func `deploy on a PC builds for the Debian of each Raspberry Pi`(_ release: String) {
      let program = deploy(["--dry-run"], release: release)
      #expect(program.wait() == 0, "\(program.standardError)")
      #expect(
        program.standardOutput.contains("would build here, for Debian \(release) on arm64"), "\(program.standardOutput)"
      )
    }
  #endif

  @Test func `deploy probes a board without a board file, copies the result back, and leaves nothing there`() {
    // This machine as the board, with a separate folder for copied files.
    let board = folder + "/board"
    mkdir(board, 0o755)
    HubProcess.write(
      """
      #!/bin/sh
      for last; do :; done
      case $last in
        'id -u;'*) cat \(folder)/facts ;;
        *@board.invalid) ;;
        *) TMPDIR=\(board) exec sh -c "$last" ;;
      esac
      """, to: folder + "/ssh")
    HubProcess.write("#!/bin/sh\necho >>\(folder)/asked\nexec \"$@\"\n", to: folder + "/sudo")
    chmod(folder + "/sudo", 0o755)
    // The bytes that identify the processor are in a comment: 0x3E is a PC's.
    let program =
      "#!/bin/sh\n#       >\0\n[ \"$1 $2\" = \"probe --write\" ] && echo '{ name: \"found\" }' >\"$3\" "
      + "&& echo /dev/i2c-1: a chip && echo \"written to $3; next: sensorhub check $3\"\n"
    HubProcess.write(program, to: folder + "/program")
    let file = folder + "/found.json5"
    let arguments = ["--probe", file, "--executable", folder + "/program"]
    let probe = deploy(arguments, architecture: "amd64", kernel: "x86_64", model: "", temporary: board)
    #expect(probe.wait() == 0, "\(probe.standardError)")
    #expect(
      probe.standardOutput.contains("next: ./deploy.sh pi@board.invalid --board \(file)"), "\(probe.standardOutput)")
    #expect(String(decoding: SharedData.read(file), as: UTF8.self) == "{ name: \"found\" }\n")
    #expect(Files.names(in: board).isEmpty)
    // The description of a file on the board is not used here, and a sudo that asks for a password asks once.
    #expect(
      probe.standardOutput.contains("a chip") && !probe.standardOutput.contains("written to"), "\(probe.standardOutput)"
    )
    #expect(SharedData.read(folder + "/asked").count == 1)
    let again = deploy(arguments, architecture: "amd64", kernel: "x86_64", model: "", temporary: board)
    #expect(again.wait() == 73 && again.standardError.contains("already"), "\(again.standardError)")
  }

  @Test(.enabled(if: RootRights.areWanted, "left out by SKIP=root"))
  func `deploy probes from another folder if the usual one allows no executables`() throws {
    try RootRights.require()
    let board = folder + "/board"
    mkdir(board, 0o755)
    let mount = Program(["-t", "tmpfs", "-o", "noexec", "none", board], path: "/bin/mount")
    #expect(mount.wait() == 0, "\(mount.standardError)")
    defer { Program([board], path: "/bin/umount").wait() }
    HubProcess.write(
      """
      #!/bin/sh
      for last; do :; done
      case $last in
        'id -u;'*) cat \(folder)/facts ;;
        *@board.invalid) ;;
        *) TMPDIR=\(board) exec sh -c "$last" ;;
      esac
      """, to: folder + "/ssh")
    HubProcess.write("#!/bin/sh\nexec \"$@\"\n", to: folder + "/sudo")
    chmod(folder + "/sudo", 0o755)
    HubProcess.write(
      "#!/bin/sh\n#       >\0\necho from \"$0\"; [ \"$1\" = probe ] && echo '{ name: \"found\" }' >\"$3\"\n",
      to: folder + "/program")
    let file = folder + "/found.json5"
    let probe = deploy(
      ["--probe", file, "--executable", folder + "/program"], architecture: "amd64", kernel: "x86_64", model: "")
    #expect(probe.wait() == 0, "\(probe.standardError)")
    #expect(probe.standardOutput.contains("from /var/tmp/sensorhub-"), "\(probe.standardOutput)")
    #expect(String(decoding: SharedData.read(file), as: UTF8.self) == "{ name: \"found\" }\n")
    let used = probe.standardOutput.split(separator: "from ").last?.split(separator: "\n").first ?? "/"
    #expect(access(String(used), F_OK) != 0, "\(used) is still there")
    #expect(Files.names(in: board).isEmpty)
  }

  @Test func `deploy refuses an executable for another processor before it copies anything`() {
    // The executables begin like those for a Raspberry Pi and for a PC.
    for (machine, architecture, other) in [(0xB7, "arm64", "amd64"), (0x3E, "amd64", "arm64")]
      as [(UInt8, String, String)]
    {
      let head: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9) + [3, 0, machine, 0]
      HubProcess.write(head, to: folder + "/program")
      let arguments = ["--executable", folder + "/program"]
      let right = deploy(arguments + ["--dry-run"], architecture: architecture)
      #expect(right.wait() == 0 && right.standardOutput.contains("would take \(folder)/program"))
      let wrong = deploy(arguments, architecture: other)
      #expect(wrong.wait() == 65)
      #expect(wrong.standardError.contains("is not an executable for \(other)"), "\(wrong.standardError)")
    }
  }
}
