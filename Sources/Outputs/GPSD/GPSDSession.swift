import Guarding
import Publishing

/// A client of the gpsd protocol: answers its requests, and changes its watch.
final class GPSDSession: StreamSession {
  private let connection: StreamConnection
  private let output: GPSDOutput
  private let feed: GPSDFeed
  private let requests = Guarded(GPSDRequests())

  init(_ connection: StreamConnection, output: GPSDOutput) {
    self.connection = connection
    self.output = output
    feed = GPSDFeed(connection, output: output)
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for request in requests.withLock({ $0.take(bytes) }) { serve(request) }
  }

  func end() { feed.end() }

  private func serve(_ request: GPSDRequests.Request) {
    switch request.name {
    case "VERSION": answerVersion()
    case "DEVICES": connection.answerGPSD { writeDevices(to: &$0) }
    case "DEVICE": serveDevice(request.object)
    case "POLL":
      connection.answerGPSD { GPSDReport.writePoll(self.output.host, at: self.output.host.now, to: &$0) }
    case "WATCH": serveWatch(request.object)
    case "": connection.answerGPSD(error: "Not a request: send ?WATCH={\"enable\":true,\"json\":true}; or ?POLL;")
    default: connection.answerGPSD(error: "Unrecognized request '\(request.name.prefix(20))'")
    }
  }

  private func serveWatch(_ object: [UInt8]?) {
    var watch = feed.watch
    if let object {
      do throws(GPSDMembers.Refusal) {
        try watch.change(by: object)
      } catch {
        return connection.answerGPSD(error: "Invalid WATCH: \(error.rawValue)")
      }
      if let device = watch.device, !GPSDDevice.all(of: output.hub).contains(where: { $0.path == device }) {
        return connection.answerGPSD(error: "No such device: \(device.prefix(80))")
      }
      feed.change(to: watch)
    }
    connection.answerGPSD {
      writeDevices(to: &$0)
      watch.write(to: &$0)
    }
    if object != nil { feed.follow() }
  }

  /// Answers a `?DEVICE`. Clients cannot change devices, because the board file decides about them.
  private func serveDevice(_ object: [UInt8]?) {
    var devices = GPSDDevice.all(of: output.hub)
    if devices.isEmpty {
      return connection.answerGPSD(error: "Can't perform DEVICE configuration, no devices attached.")
    }
    var refused: [String] = []
    if let object {
      do throws(GPSDMembers.Refusal) {
        let members = try GPSDMembers(object)
        if let path = try members.string("path").map({ GPSDLimits.path($0) }) {
          devices.removeAll { $0.path != path }
          if devices.isEmpty {
            return connection.answerGPSD(error: "Can't open \(path.prefix(80)): the board has no such device")
          }
        } else if devices.count > 1 {
          return connection.answerGPSD(error: "No path specified in DEVICE, but multiple devices are attached.")
        }
        refused = try GPSDReport.refusedSettings(members, devices[0])
      } catch {
        return connection.answerGPSD(error: "Invalid DEVICE: \(error.rawValue)")
      }
    }
    if !refused.isEmpty {
      connection.answerGPSD(
        error: "Can't set \(refused.joined(separator: ", ")) of \(devices[0].path): the board file does")
    }
    let activity = activity
    connection.answerGPSD { json in
      for device in devices {
        GPSDReport.writeDeviceObject(device, activity, to: &json)
        json.endLine()
      }
    }
  }

  private var activity: GPSDActivity {
    GPSDActivity(since: output.activations.changes.value.since, cycleSeconds: output.cycleSeconds)
  }

  private func writeDevices(to json: inout JSONWriter) {
    GPSDReport.writeDevices(output.hub, activity, to: &json)
  }

  func answerVersion() {
    connection.answerGPSD { json in
      json.beginObject()
      json.member("class", literal: "VERSION")
      json.member("release", "SensorHub")
      json.member("rev", "SensorHub")
      json.member("proto_major", 3)
      json.member("proto_minor", 14)
      json.endObject()
      json.endLine()
    }
  }
}

/// Sends lines of the gpsd protocol.
extension StreamConnection {
  func answerGPSD(_ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter()
    json.lineEnd = "\r\n"
    write(&json)
    answer(json.bytes)
  }

  func answerGPSD(error message: String) {
    answerGPSD { json in
      json.beginObject()
      json.member("class", literal: "ERROR")
      json.member("message", message)
      json.endObject()
      json.endLine()
    }
  }

  /// Sends the lines that `write` writes. If it writes none, nothing is sent.
  func sendGPSD(capacity: Int, _ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter(capacity: capacity)
    json.lineEnd = "\r\n"
    write(&json)
    if json.count > 0 { send(json.bytes) }
  }
}
