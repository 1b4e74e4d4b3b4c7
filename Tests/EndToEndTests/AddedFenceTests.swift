import TestSupport
import Testing

/// Fences that are added while the hub runs, as programs and people do it.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AddedFenceTests {
  private let http = SocketClient.freePort()

  private func post(_ json: String, _ headers: [String] = []) -> HTTPAnswer {
    HTTPAnswer(http, "POST", "/fences", ["Content-Length: \(json.utf8.count)"] + headers, body: json)
  }

  @Test func `a fence can be added and removed over HTTP and by a command`() {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("http: { port: \(http) }, fences: { yard: { circle: [54.4, 10.2, 100] } }"))
    #expect(eventually { hub.program.standardError.contains("dashboard on") })
    func fence(_ arguments: String...) -> Program {
      let program = Program(["fence"] + arguments + ["--socket", hub.socket])
      program.wait()
      return program
    }
    let foreign = post(#"{"name": "anchor", "radiusMetres": 40}"#, ["Origin: http://evil.example"])
    #expect(foreign.status == 403)
    let wrong = post(#"{"name": "anchor", "radius": 40}"#)
    #expect(wrong.status == 400 && wrong.body.contains("did you mean 'radiusMetres'?"), "\(wrong.body)")
    #expect(post(#"{"name": "yard", "radiusMetres": 40, "latitude": 54, "longitude": 10}"#).status == 409)
    let added = post(#"{"name": "anchor", "radiusMetres": 200, "latitude": 54.3721, "longitude": 10.1573}"#)
    #expect(added.status == 201 && added.body.contains(#""added":true,"kept":true"#), "\(added.head)\(added.body)")
    #expect(HTTPAnswer(http, "GET", "/fences").body.contains(#""added":true"#))
    let list = fence("list")
    #expect(list.standardOutput.contains("yard: ") && list.standardOutput.contains("set in the board file"))
    #expect(list.standardOutput.contains("200 m around 54.372100, 10.157300; added"), "\(list.standardOutput)")
    // The fence is around the board. By now the receiver is awake for others, or it is woken.
    let here = fence("add", "berth", "--here", "80")
    #expect(here.standardOutput.hasPrefix("fence berth: 80 m around "), "\(here.standardError)")
    #expect(fence("remove", "yard").standardError.contains("is set in the board file"))
    #expect(fence("remove", "berth").standardOutput == "fence berth: removed\n")
    #expect(HTTPAnswer(http, "DELETE", "/fences/anchor").status == 200)
    let gone = HTTPAnswer(http, "DELETE", "/fences/anchor")
    #expect(gone.status == 404 && gone.body.contains("none was added"), "\(gone.body)")
    #expect(!HTTPAnswer(http, "GET", "/fences").body.contains(#""added":true"#))
    #expect(hub.stop() == 0)
  }

  @Test(arguments: [
    (["add", "anchor"], "give either --here METRES"), (["add", "anchor", "--at", "54"], "--at must be"),
    (["add", "anchor", "--at", "54,10"], "needs --radius"),
    (["add", "a\"b", "--here", "40"], "the name must have"),
  ])
  func `the fence command reports the missing argument`(_ arguments: [String], _ message: String) {
    let program = Program(["fence"] + arguments)
    #expect(program.wait() == 64 && program.standardError.contains(message), "\(program.standardError)")
  }
}
