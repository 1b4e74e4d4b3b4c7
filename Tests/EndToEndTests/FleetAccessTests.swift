import Glibc
import HardwareIO
import TestSupport
import Testing

/// Permissions and authentication at a broker with access control.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FleetAccessTests {
  private static func run(_ path: String, _ arguments: [String]) {
    let program = Program(arguments, path: path)
    #expect(program.wait() == 0, "\(program.standardError)")
  }

  @Test func `the packaged access list lets hubs and viewers do their work and nothing else`() {
    let list = SharedData.packageFolder + "/packaging/mosquitto/sensorhub.acl"
    let broker = Broker(
      { folder in
        for (index, user) in ["boat", "ship", "viewer", "homeassistant"].enumerated() {
          let file = folder + "/passwords"
          FleetAccessTests.run(
            "/usr/bin/mosquitto_passwd", (index == 0 ? ["-c"] : []) + ["-b", file, user, "of \(user)"])
        }
        HubProcess.write("of boat\n", to: folder + "/boat")
        HubProcess.write("of viewer\n", to: folder + "/viewer")
        return "allow_anonymous false\npassword_file \(folder)/passwords\nacl_file \(list)"
      }, access: { _ in ["-u", "viewer", "-P", "of viewer"] })
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        """
        mqtt: { broker: "\(broker.address)", hub: "boat", username: "boat", passwordFile: "\(broker.folder)/boat",
          homeAssistant: true }
        """), environment: ["CREDENTIALS_DIRECTORY=\(broker.folder)"])
    #expect(hub.logs("joined \(broker.address) as 'boat'"))
    let address = "mqtt://viewer@127.0.0.1:\(broker.port)"
    let watch = Program(
      [
        "watch", "--once", "--json", "--parts", "attitude", "\(address)/boat", "--password-file",
        "\(broker.folder)/viewer",
      ])
    #expect(watch.wait() == 0, "\(watch.standardError)")
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["imu"].wakes == 1)
    // A viewer can neither make requests in another's name nor cancel another's requests.
    broker.publish(
      "sensorhub/boat/interest/homeassistant/position", "{}", ["-u", "homeassistant", "-P", "of homeassistant"])
    #expect(hub.shows("gps", "tracking"))
    #expect(hub.devicesNow["gps"].holders == ["mqtt homeassistant 1 Hz (position)"])
    for (topic, text) in [
      ("homeassistant/position", ""), ("homeassistant/attitude", "{}"), ("phone/attitude", "{}"),
      ("homeassistant/phone/attitude", "{}"),
    ] {
      broker.publish("sensorhub/boat/interest/\(topic)", text)
    }
    broker.publish("sensorhub/boat/interest/viewer/phone/attitude", "{}")
    #expect(hub.shows("imu", "tracking"))
    #expect(hub.devicesNow["imu"].holders == ["mqtt viewer/phone 1 Hz (attitude)"])
    #expect(hub.devicesNow["gps"].holders == ["mqtt homeassistant 1 Hz (position)"])
    // A viewer cannot publish in a hub's name, nor one hub in another's.
    #expect(eventually { broker.retained("sensorhub/boat/last") != nil })
    broker.publish("sensorhub/boat/status", "forged")
    broker.publish("sensorhub/boat/last", "forged", ["-u", "ship", "-P", "of ship"])
    #expect(broker.retained("sensorhub/boat/status") == "online")
    #expect(broker.retained("sensorhub/boat/last")?.contains("\"class\":\"STATE\"") == true)
    // A client with a wrong password gets an error, and makes no further requests.
    HubProcess.write("forgotten\n", to: broker.folder + "/viewer")
    let stranger = Program(["fleet", address, "--password-file", "\(broker.folder)/viewer"])
    #expect(stranger.wait() == 69)
    #expect(stranger.standardError.contains("refused the connection"), "\(stranger.standardError)")
    #expect(stranger.standardError.contains("next: check the user and the password"), "\(stranger.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test func `a corrected password is used at the next attempt`() {
    let broker = Broker { folder in
      FleetAccessTests.run("/usr/bin/mosquitto_passwd", ["-c", "-b", folder + "/passwords", "boat", "of boat"])
      HubProcess.write("forgotten\n", to: folder + "/boat")
      return "allow_anonymous false\npassword_file \(folder)/passwords"
    }
    let hub = HubProcess(
      board: HubProcess.simulatedBoard(
        """
        mqtt: { broker: "\(broker.address)", hub: "boat", username: "boat", passwordFile: "\(broker.folder)/boat" }
        """), environment: ["CREDENTIALS_DIRECTORY=\(broker.folder)"])
    #expect(hub.logs("refused the connection"), "\(hub.program.standardError)")
    #expect(hub.logs("; check the user and the password"), "\(hub.program.standardError)")
    HubProcess.write("of boat\n", to: broker.folder + "/boat")
    #expect(
      hub.logs("joined \(broker.address) as 'boat'"),
      "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test func `a hub and its broker authenticate each other by certificates`() {
    func certificates(_ folder: String) {
      let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
      for authority in ["ours", "theirs"] {
        FleetAccessTests.run(
          "/usr/bin/openssl",
          ["req", "-x509"] + key + ["-keyout", "\(folder)/\(authority).key", "-out", "\(folder)/\(authority).crt"]
            + ["-subj", "/CN=\(authority)", "-days", "2"])
      }
      for (name, at) in [("broker", "IP:127.0.0.1"), ("boat", "DNS:boat")] {
        FleetAccessTests.run(
          "/usr/bin/openssl",
          ["req", "-x509", "-CA", "\(folder)/ours.crt", "-CAkey", "\(folder)/ours.key"] + key
            + ["-keyout", "\(folder)/\(name).key", "-out", "\(folder)/\(name).crt", "-subj", "/CN=\(name)"]
            + ["-addext", "subjectAltName=\(at)", "-addext", "basicConstraints=critical,CA:FALSE", "-days", "2"])
      }
    }
    let broker = Broker(
      { folder in
        certificates(folder)
        return """
          cafile \(folder)/ours.crt
          certfile \(folder)/broker.crt
          keyfile \(folder)/broker.key
          require_certificate true
          use_identity_as_username true
          """
      },
      access: { folder in
        ["--cafile", "\(folder)/ours.crt", "--cert", "\(folder)/boat.crt", "--key", "\(folder)/boat.key"]
      })
    let address = "mqtts://127.0.0.1:\(broker.port)"
    func board(_ authority: String) -> String {
      HubProcess.simulatedBoard(
        """
        mqtt: { broker: "\(address)", hub: "boat", caFile: "\(broker.folder)/\(authority).crt",
          certificateFile: "\(broker.folder)/boat.crt", keyFile: "\(broker.folder)/boat.key" }
        """)
    }
    let hub = HubProcess(board: board("theirs"))
    #expect(
      hub.logs("who vouches for the broker's certificate"),
      "\(hub.program.standardError)")
    // A board without a clock meets certificates that are not valid yet.
    #expect(hub.program.standardError.contains("which is today by this board's clock"))
    // A renewed authority is used at the next attempt, like a renewed certificate of the hub.
    HubProcess.write((try? Files.bytes(of: broker.folder + "/ours.crt")) ?? [], to: broker.folder + "/theirs.crt")
    #expect(
      hub.logs("joined \(address) as 'boat'"), "\(hub.program.standardError)")
    // The hub logs that it has joined as soon as the broker has answered. The status follows.
    #expect(broker.retains("online", on: "sensorhub/boat/status"))
    broker.publish("sensorhub/boat/interest/phone/attitude", "{}")
    #expect(hub.shows("imu", "tracking"))
    #expect(hub.devicesNow["imu"].holders == ["mqtt phone 1 Hz (attitude)"])
    #expect(hub.stop() == 0)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
  }
}
