import Glibc
import HardwareIO
import TestSupport
import Testing

/// Programs that listen at a hub's sockets but are not hubs.
@Suite(.timeLimit(.minutes(10))) struct ImpostorHubTests {
  private let temporary = TemporaryFolder("impostor")

  /// Sends one letter repeatedly to whichever socket is connected.
  private static let script = """
    import os, socket, sys, threading
    def serve(path):
      listener = socket.socket(socket.AF_UNIX)
      listener.bind(path + "~")
      listener.listen()
      os.rename(path + "~", path)
      while True:
        client = listener.accept()[0]
        sent = 0
        try:
          while sent < 1 << 30:
            client.sendall(b"x" * 65536)
            sent += 65536
        except OSError:
          pass
        client.close()
        print(sent >> 20, "MB", flush=True)
    for name in ("hub.sock", "devices.sock"):
      threading.Thread(target=serve, args=(os.path.join(sys.argv[1], name),), daemon=True).start()
    threading.Event().wait()
    """

  /// Blocks until an impostor listens at both sockets.
  private func listens() -> Bool {
    FileChanges.wait(in: temporary.path) {
      Set(Files.names(in: temporary.path)).isSuperset(of: ["hub.sock", "devices.sock"])
    }
  }

  @Test func `a client drops a hub's endless line long before it fills the memory`() {
    let impostor = Program(["python3", "-c", ImpostorHubTests.script, temporary.path], path: "/usr/bin/env")
    #expect(listens())
    for (index, command) in ["devices", "watch"].enumerated() {
      let program = Program([command, "--socket", "\(temporary.path)/hub.sock"])
      #expect(program.wait() == 69, "\(program.standardError)")
      // On a busy machine the client's patience may end before its limit for a line is reached.
      let endings = ["the hub closed the connection", "the hub has not answered within"]
      #expect(endings.contains { program.standardError.contains($0) }, "\(program.standardError)")
      #expect(impostor.prints { $0.count > index })
    }
    for line in impostor.lines { #expect((Int(line.prefix { $0.isNumber }) ?? .max) < 256, "\(line)") }
    impostor.send(SIGKILL)
  }

  private static let listening = """
    import os, socket, sys, threading, time
    def listen(name):
      path = os.path.join(sys.argv[1], name)
      listener = socket.socket(socket.AF_UNIX)
      listener.bind(path + "~")
      listener.listen()
      os.rename(path + "~", path)
      return listener
    devices = listen("devices.sock")

    """
  /// Sends a line ten times a second to clients of the states, and never answers clients of the devices.
  private static let silentScript =
    listening + """
      client = listen("hub.sock").accept()[0]
      while True:
        client.sendall(b'{"impostor": true}\\n')
        time.sleep(0.1)
      """

  /// Never answers.
  private static let muteScript =
    listening + """
      states = listen("hub.sock")
      threading.Event().wait()
      """

  @Test func `a watch shows states even if the hub does not answer about its devices`() {
    let impostor = Program(["python3", "-c", ImpostorHubTests.silentScript, temporary.path], path: "/usr/bin/env")
    #expect(listens())
    let watch = Program(["watch", "--json", "--socket", "\(temporary.path)/hub.sock"])
    #expect(watch.prints("impostor"), "\(watch.standardError)")
    watch.send(SIGTERM)
    watch.wait()
    impostor.send(SIGKILL)
  }

  @Test func `a command with a single request does not wait forever for a hub that never answers`() {
    let impostor = Program(["python3", "-c", ImpostorHubTests.muteScript, temporary.path], path: "/usr/bin/env")
    #expect(listens())
    let commands = [["devices"], ["devices", "--json"], ["verify"], ["release"], ["fence", "list"]]
    let programs = commands.map { Program($0 + ["--socket", "\(temporary.path)/hub.sock"]) }
    for program in programs {
      #expect(program.wait() == 69, "\(program.standardError)")
      #expect(program.standardError.contains("the hub has not answered within 10.0 s"), "\(program.standardError)")
      #expect(program.standardError.contains("next: try again"), "\(program.standardError)")
    }
    impostor.send(SIGKILL)
  }
}
