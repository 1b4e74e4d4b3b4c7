import Testing

@testable import Hub

/// Hooks of board files.
struct HookSettingsTests {
  private func read(_ hooks: String) throws -> [HookSettings] {
    try Board(json5: Array("{ name: 'x', devices: {},\n on: \(hooks) }".utf8), file: "board").hooks
  }

  @Test func `a hook runs a command, posts or publishes, for one event or for any`() throws {
    let hooks = try read(
      """
      { fence: { run: ['/usr/local/bin/alarm', '--loud'], limitSeconds: 5 }, supply: [{ url: 'https://ntfy.sh', topic: 'boat' },
        { url: 'http://127.0.0.1:8000/message?token=a', tokenFile: '/etc/sensorhub/gotify' }], any: { mqtt: 'alarm/all' } }
      """)
    #expect(hooks.map(\.key) == ["on.any", "on.fence", "on.supply[0]", "on.supply[1]"])
    #expect(hooks.map(\.events) == [HookEvent.troubles, [.fence], [.supply], [.supply]])
    #expect(hooks[0].topic == "alarm/all")
    #expect(hooks[1].action == .run(["/usr/local/bin/alarm", "--loud"], limit: .seconds(5)))
    #expect(hooks[2].webhook?.origin.description == "https://ntfy.sh" && hooks[2].webhook?.topic == "boat")
    #expect(hooks[3].webhook?.isLoopback == true && hooks[3].webhook?.tokenFile == "/etc/sensorhub/gotify")
    #expect(try read("{ fence: { run: ['/a'] } }")[0].action == .run(["/a"], limit: .seconds(30)))
    #expect(try read("{}").isEmpty && read("null").isEmpty)
  }

  @Test(arguments: [
    ("{ fence: {} }", "board:2: 'on.fence' must be one of run: [\"/path/of/a/program\"], url: \"https://…\" and mqtt:"),
    ("{ fence: { run: ['/a'],\n mqtt: 'a' } }", "board:2: 'on.fence' must be one of run:"),
    ("{ fence: { run: 'alarm' } }", "'on.fence.run' must be a list of strings"),
    ("{ fence: [{ run: ['alarm'] }] }", "'on.fence[0].run' must be a list of a program's absolute path"),
    ("{ fence: { run: ['/a/../b'] } }", "'on.fence.run' must be a list of a program's absolute path"),
    ("{ fence: { run: ['/a/'] } }", "'on.fence.run' must be a list of a program's absolute path"),
    ("{ fence: { run: ['/a'], limitSeconds: 0 } }", "'on.fence.limitSeconds' must be a number from 1 to 300"),
    ("{ fence: { run: ['/a'], topic: 'x' } }", "unknown key 'on.fence.topic'"),
    ("{ fence: { url: 'https://ntfy.sh', topic: 'my.boat' } }", "'on.fence.topic' must be at most 64 letters"),
    ("{ fence: { url: 'ntfy.sh' } }", "'on.fence.url' must be an address, such as \"https://ntfy.sh\""),
    ("{ fence: { url: 'https://me:secret@host/' } }", "'on.fence.url' must be an address"),
    ("{ fence: { url: 'file:///etc/passwd' } }", "'on.fence.url' must be an address"),
    ("{ fence: { mqtt: 'state' } }", "'on.fence.mqtt' must be a topic below the hub's own"),
    ("{ fence: { mqtt: 'interest/me/state' } }", "'on.fence.mqtt' must be a topic below the hub's own"),
    ("{ fence: { mqtt: '#' } }", "'on.fence.mqtt' must be a topic below the hub's own"),
    ("{ fense: { mqtt: 'a' } }", "board:2: unknown key 'on.fense'; did you mean 'on.fence'?"),
  ])
  func `an invalid hook is reported with its line, its key and the valid values`(_ hooks: String, _ message: String) {
    let error = #expect(throws: BoardError.self) { try read(hooks) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }

  @Test func `at most sixteen hooks are allowed`() throws {
    let hook = "{ mqtt: 'a' },"
    #expect(try read("{ any: [\(String(repeating: hook, count: 16))] }").count == 16)
    #expect(throws: BoardError.self) { try read("{ any: [\(String(repeating: hook, count: 17))] }") }
  }
}
