import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The hubs at a broker in the commands `watch` and `fleet`.
extension FleetTests {
  @Test func `watch shows the states of a remote hub, and its request ends with it`() {
    let hub = hub()
    #expect(hasJoined(hub))
    let once = Program(["watch", "--once", "--json", "\(broker.address)/boat"])
    #expect(once.wait() == 0, "\(once.standardError)")
    #expect(HubProcess.states(once).first?.position != nil, "\(once.standardOutput)")
    #expect(hub.comesToRest())
    let watch = Program(["watch", "--json", "--rate", "5", "--parts", "attitude", "\(broker.address)/boat"])
    #expect(watch.prints("\"attitude\":{"), "\(watch.standardError)")
    let holders = hub.devicesNow["imu"].holders
    #expect(holders.contains { $0.hasPrefix("mqtt watch-") && $0.hasSuffix("5 Hz (attitude)") }, "\(holders)")
    watch.send(SIGKILL)
    #expect(hub.comesToRest())
    let nobody = Program(["watch", "--once", "\(broker.address)/nobody"])
    #expect(nobody.wait() == 69)
    #expect(nobody.standardError.contains("there is no hub 'nobody' at \(broker.address)"), "\(nobody.standardError)")
    #expect(nobody.standardError.contains("known hubs: boat"), "\(nobody.standardError)")
    let misspelt = Program(["watch", "\(broker.address)/baot"])
    #expect(
      misspelt.logs("no hub 'baot' is known at \(broker.address); waiting for it; known hubs: boat\n"),
      "\(misspelt.standardError)")
    misspelt.send(SIGKILL)
    #expect(hub.stop() == 0)
  }

  @Test func `fleet lists hubs as asleep, awake or gone, and can hold their devices`() {
    let hub = hub()
    #expect(hasJoined(hub))
    func list(_ options: [String] = []) -> String {
      let list = Program(["fleet"] + options + [broker.address])
      list.wait()
      return list.standardOutput + list.standardError
    }
    let (health, devices) = ("sensorhub/boat/health", "sensorhub/boat/devices")
    #expect(broker.tells("\"viewers\":[]", on: health) && broker.tells("\"gps\"", on: devices))
    let asleep = list()
    #expect(
      asleep.contains("boat: online, board 'test', version") && asleep.contains("  awake    no device"), "\(asleep)")
    #expect(wakes(hub) == [0, 0])
    let hold = Program(["fleet", "hold", "\(broker.address)/boat", "--for", "1h", "--parts", "position"])
    #expect(hold.wait() == 0, "\(hold.standardError)")
    #expect(hold.standardOutput == "boat is held for 1 h 00 min\n")
    #expect(broker.tells("\"power\":\"tracking\"", on: devices) && broker.tells("\"gnss\"", on: "sensorhub/boat/last"))
    #expect(hub.devicesNow["gps"].holders.contains { $0.hasPrefix("mqtt hold-") })
    let awake = list()
    #expect(awake.contains("  awake    gps, tracking: for mqtt hold-") && awake.contains("  last     gnss"), "\(awake)")
    // One request is removed, and no other viewer's, whatever its name.
    broker.publish("\(FleetTests.interest)/hold-my-phone/state", #"{"parts": ["position"]}"#)
    #expect(broker.tells("hold-my-phone", on: health))
    #expect(hub.devicesNow["gps"].holders.count == 2)
    // A user of the broker holds the devices too, and can cancel only the user's own holds.
    HubProcess.write("any\n", to: broker.folder + "/viewer")
    let viewer = ["mqtt://viewer@127.0.0.1:\(broker.port)/boat", "--password-file", broker.folder + "/viewer"]
    func holdAsViewer() {
      let hold = Program(["fleet", "hold"] + viewer + ["--for", "1h", "--parts", "position"])
      #expect(hold.wait() == 0, "\(hold.standardError)")
    }
    func release(_ place: [String]) -> String {
      let release = Program(["fleet", "hold", "--release"] + place)
      release.wait()
      // The message does not contain the name of a hold.
      let words = (release.standardOutput + release.standardError).split(separator: " ")
      return words.map { word in word.firstRange(of: "hold-").map { word[..<$0.upperBound] } ?? word }.joined(
        separator: " ")
    }
    holdAsViewer()
    #expect(release(viewer) == "boat is no longer held by viewer: viewer/hold- released; hold- remains\n")
    #expect(release(viewer) == "boat is not held by viewer; hold- remains\n")
    #expect(eventually { hub.devicesNow["gps"].holders.count == 2 })
    // A client without a name there ends all of them.
    holdAsViewer()
    #expect(release(["\(broker.address)/boat"]) == "boat is no longer held: hold- viewer/hold- released\n")
    #expect(eventually { hub.devicesNow["gps"].holders == ["mqtt hold-my-phone 1 Hz (position)"] })
    #expect(release(["\(broker.address)/boat"]) == "boat is not held\n")
    struct Entry: Decodable {
      struct Health: Decodable { var viewers: [String] }
      var hub, status: String
      var health: Health
      var devices: HubProcess.Devices
      var last: HubProcess.State
    }
    let isRight = eventually {
      let entry = try? JSONDecoder().decode(Entry.self, from: Data(list(["--json"]).utf8))
      return entry?.hub == "boat" && entry?.health.viewers.count == 1
    }
    #expect(isRight, "\(list(["--json"]))")
    #expect(hub.stop() == 0)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    let gone = list()
    #expect(gone.contains("boat: offline"), "\(gone)")
  }
}
