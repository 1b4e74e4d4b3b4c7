import CLinux
import Glibc
import Guarding
import HardwareIO
import Hub
import Logging
import MonotonicTime
import Outputs
import Publishing
import ServiceLifecycle
import Simulation

/// The hub as a long-running process: board, outputs and signals, from the start until all power lines are off.
struct HubService: Sendable {
  private let source: BoardSource
  private let writesState: Bool?
  private let sink = JournalSink()
  private let hardware: any Hardware
  private let host: HubHost
  private let path: SocketPath
  private let inUse: BoardInUse
  /// The keeper of the usage history; `nil` for the built-in board, whose energy use is only simulated, and without a
  /// state folder.
  private let usageHistories: UsageHistoryKeeper?
  /// The file with the receivers' satellite data and positions; `nil` for the built-in board, and without a state
  /// folder.
  private let knowledge: ReceiverKnowledgeFile?
  /// The file with the times at which supplies were switched off; `nil` for the built-in board, without a state folder,
  /// and if no device has a minimum off time.
  private let supplyTimes: SupplyTimesFile?
  /// The text of the board file; `nil` for the built-in board.
  private let fileText: [UInt8]?
  private let budget = DescriptorBudget.raised()
  private let server: StreamServer

  /// Reads the board and opens the sockets, so that errors appear before anything else starts.
  init(board: String?, socket: String?, writesState: Bool?) throws {
    source = BoardSource(file: board)
    var receiver = SimulatedReceiver.Configuration()
    // Every two minutes the simulated vehicle is in a tunnel for 30 s, so that users can watch the dead reckoning.
    receiver.tunnel = SimulatedReceiver.Tunnel(period: .seconds(120), entrance: .seconds(75), length: .seconds(30))
    let simulated = SimulatedHardware(receiver: receiver)
    hardware = simulated
    self.writesState = writesState
    // Without these threads the hub could never switch a device off again, so it does not run without them.
    for (error, what) in [(MonotonicClock.start(), "timers"), (SingleThreadExecutor.shared.start(), "tasks")] {
      guard error != 0 else { continue }
      throw CommandError(.unavailable, "cannot start a thread for \(what): \(String(cString: strerror(error)))")
    }
    let loaded = try source.loadWithText { [sink] in sink.write(.warning, $0) }
    fileText = loaded.fileText
    host = HubHost(
      Hub(board: loaded.board, hardware: hardware), version: SensorHub.version, boardText: loaded.text,
      calibrations: CalibrationFolder(), rehearsal: SimulatedRehearsal(simulated))
    usageHistories = (fileText == nil ? nil : StateFolder.path).map { [host, sink] folder in
      UsageHistoryKeeper(host: host, sink: sink, folder: folder)
    }
    knowledge = (fileText == nil ? nil : StateFolder.path).map { folder in
      ReceiverKnowledgeFile(path: "\(folder)/receivers.json") { try? StateFolder.make(folder) }
    }
    let hasTimes = loaded.board.devices.contains { $0.power.timing.minimumOff > .zero }
    supplyTimes = (fileText == nil || !hasTimes ? nil : StateFolder.path).map { folder in
      SupplyTimesFile(path: "\(folder)/supplies.json") { try? StateFolder.make(folder) }
    }
    path = socket.map(SocketPath.init) ?? .standard
    do throws(SocketError) {
      server = try StreamServer(host: host, path: path, sink: sink, budget: budget)
    } catch {
      throw CommandError(error)
    }
    inUse = BoardInUse(in: server.folder)
  }

  func run() async throws {
    let hub = host.hub
    let reloader = Reloader(source: source, host: host, sink: sink, inUse: inUse)
    // A signal ends the group of services. The signal listener is created first, because it belongs to the group, so
    // the group is stored here later.
    let group = Guarded<ServiceGroup?>(nil)
    let signals = try SignalListener(
      onTerminate: { [host] in
        // Switch the devices off before anything else, so that no line stays high while clients are being disconnected.
        host.shutDown()
        // The service that sends the pings for the watchdog ends among the first. The end of the other services may
        // take longer than systemd waits for a ping.
        ServiceManager.stopping()
        if let group = group.withLock({ $0 }) { group.triggersShutdown() }
      },
      onReload: { await reloader.reload() })
    supplyTimes?.restore(to: hub.machine)
    // Do this only once this process handles signals. Before that, a signal would end the process and leave the lines
    // in any state.
    for problem in inUse.makeSafe(hardware, and: hub, isStarting: true).problems { sink.write(.warning, problem) }
    if let problem = inUse.record(fileText) { sink.write(.warning, problem) }
    for problem in hub.registry.value.pulseProblems { sink.write(.warning, problem) }
    var warnings = BoardWarnings.magneticModel(of: hub.board, at: hub.machine.systemTime())
    warnings += BoardWarnings.consoles(of: hub.board, on: MachineFiles()) { hub.isReal($0) }
    for warning in warnings { sink.write(.warning, warning) }
    sink.write(.notice, "sensorhub \(SensorHub.versionWithCommit): board '\(hub.board.name)', state on \(path.state)")
    if hub.origin != .real {
      sink.write(
        .warning, "SIMULATED: \(HubService.simulated(hub.board)); the outputs are marked too")
    }
    if let other = SocketPath.candidates.first(where: { $0 != path && HubService.isServed($0) }) {
      sink.write(.warning, "another hub is running at \(other.state): this hub cannot use the other hub's devices")
    }
    usageHistories?.begin()
    // Two hubs in one folder would overwrite each other's data.
    if usageHistories?.isFolderTaken == false {
      supplyTimes?.begin(hub.machine)
      knowledge?.begin(hub.machine.receiverKnowledge, clock: hub.machine.clock)
    }
    if fileText != nil, usageHistories == nil {
      sink.write(.warning, "the usage history will be lost when the hub stops: \(StateFolder.missingHome)")
    }
    let boardSleep = BoardSleepOutput(
      host: host, sink: sink, file: boardSleepFile,
      surroundings: BoardSleepOutput.Surroundings(save: { [usageHistories] in usageHistories?.write() }))
    // This must precede the standing requests, because the board may have been woken for one of them.
    boardSleep.begin()
    let calibration = BackgroundCalibration(host: host, sink: sink)
    calibration.begin()
    defer { calibration.end() }
    let recorder = RecorderOutput(host: host, sink: sink)
    recorder.begin()
    // The first service ends last, so that the recorder records how the other services end.
    var services: [any Service] = [
      recorder, signals, server,
      JournalOutput(host: host, sink: sink, writesState: writesState),
      HTTPOutput(host: host, sink: sink, budget: budget), ChronyOutput(host: host, sink: sink),
      NMEADatagramOutput(host: host, sink: sink),
      // This service starts before the services whose events it receives, and ends after them.
      HookOutput(host: host, sink: sink, memory: hookMemory),
      FenceOutput(host: host, sink: sink, memory: fenceMemory, file: addedFences),
      StandingRequestOutput(host: host), ConditionOutput(host: host, sink: sink),
      BatteryOutput(host: host, sink: sink), boardSleep,
      FleetOutput(host: host, sink: sink, memory: fleetMemory),
      CorrectionsOutput(host: host, sink: sink), HotPlugService(host: host, sink: sink),
      AnnouncementOutput(host: host, sink: sink), GDL90Output(host: host, sink: sink),
      NMEA2000Output(host: host, sink: sink), MAVLinkOutput(host: host, sink: sink),
      SignalKServerOutput(host: host, sink: sink, tokens: signalKTokens),
    ]
    if let interval = ServiceManager.watchdogInterval {
      services.append(Watchdog(interval: interval, supervisor: hub.machine.supervisor, usageHistories: usageHistories))
    }
    let serviceGroup = ServiceGroup(
      services: services, logger: Logger(label: "sensorhub") { _ in SwiftLogNoOpLogHandler() })
    group.withLock { $0 = serviceGroup }
    host.whenMachineStaysOn { [sink] in
      sink.write(
        .error,
        "logind agreed to switch the machine off, but it is still on: the hub ends, so that systemd starts it again with "
          + "its devices; systemctl list-jobs shows what the machine waits for")
      ServiceManager.stopping()
      serviceGroup.triggersShutdown()
    }
    ServiceManager.ready(status: "board \(hub.board.name)")
    do {
      try await serviceGroup.run()
    } catch {
      await powerOff(host)
      sink.flush(within: HubService.lastWords)
      throw error
    }
    let isOff = await powerOff(host)
    sink.write(.notice, isOff ? HubService.end(of: host.hub) : "stopped, but some devices are still on")
    sink.flush(within: HubService.lastWords)
    // systemd starts a service again only after a failure.
    if host.machineStaysOn { throw CommandError(.unavailable, "the machine was not switched off") }
  }

  private static func simulated(_ board: Board) -> String {
    let ids = board.devices.filter { SimulatedHardware.isSimulated($0.path) }.map(\.id)
    return ids.count == board.devices.count ? "all devices are simulated" : "simulated: \(ids.joined(separator: ", "))"
  }

  /// Whether a hub answers on a path. The check wakes no device.
  private static func isServed(_ path: SocketPath) -> Bool {
    guard let folder = try? path.openTrustedFolder(),
      let descriptor = try? UnixSocket.connect(path.devices, in: folder)
    else { return false }
    close(descriptor)
    return true
  }

  /// Stores the board's side of each fence across restarts. `nil` for the built-in board, which stores nothing, without
  /// a state folder, and if another hub uses the folder, because two hubs would overwrite each other's data.
  private var fenceMemory: FenceMemory? {
    fileText == nil || usageHistories?.isFolderTaken == true
      ? nil
      : StateFolder.path.map { folder in FenceMemory(path: "\(folder)/fences.json") { try? StateFolder.make(folder) } }
  }

  /// Stores the data of hooks across restarts; `nil` in the same cases as `fenceMemory`.
  private var hookMemory: HookMemory? {
    fileText == nil || usageHistories?.isFolderTaken == true
      ? nil
      : StateFolder.path.map { folder in HookMemory(path: "\(folder)/hooks.json") { try? StateFolder.make(folder) } }
  }

  /// Stores the data for the time after a sleep of the board; `nil` in the same cases as `fenceMemory`.
  private var boardSleepFile: BoardSleepFile? {
    fileText == nil || usageHistories?.isFolderTaken == true
      ? nil
      : StateFolder.path.map { folder in
        BoardSleepFile(path: "\(folder)/sleep.json") { try? StateFolder.make(folder) }
      }
  }

  private var addedFences: AddedFenceFile? {
    fileText == nil || usageHistories?.isFolderTaken == true
      ? nil
      : StateFolder.path.map { folder in
        AddedFenceFile(path: "\(folder)/added-fences.json") { try? StateFolder.make(folder) }
      }
  }

  /// Stores the hub's addresses at brokers across restarts; `nil` without a state folder, and if another hub uses the
  /// folder.
  private var fleetMemory: FleetMemory? {
    usageHistories?.isFolderTaken == true
      ? nil
      : StateFolder.path.map { folder in FleetMemory(path: "\(folder)/fleet.json") { try? StateFolder.make(folder) } }
  }

  /// The tokens that Signal K servers have given to the hub. They are stored except in the cases of `fenceMemory`.
  private var signalKTokens: SignalKTokens {
    let folder = fileText == nil || usageHistories?.isFolderTaken == true ? nil : StateFolder.path
    return SignalKTokens(path: folder.map { "\($0)/signalk.json" }) {
      if let folder { try? StateFolder.make(folder) }
    }
  }

  /// The log line about the end of a hub that has switched off all devices whose power lines it has driven.
  private static func end(of hub: Hub) -> String {
    if hub.board.devices.allSatisfy({ $0.power.switch == .none }) { return "stopped; the board has no power lines" }
    let undriven = hub.undrivenLines
    if undriven.isEmpty { return "stopped; all power lines are off" }
    return
      "stopped; the power lines of \(undriven.joined(separator: ", ")) could not be driven, and all others are off"
  }

  /// The maximum time for which an ending hub waits until its log is written.
  private static let lastWords = Duration.seconds(1)

  /// Switches the devices off, and saves the data that survives the hub.
  ///
  /// - Returns: whether all devices could be switched off, including those that earlier hubs had left on
  @discardableResult
  private func powerOff(_ host: HubHost) async -> Bool {
    host.shutDown()
    let stuck = await host.hub.isOff(within: HubHost.longestEnd)
    // Write these files while this hub still has the lock on the folder.
    knowledge?.end(host.hub.machine.receiverKnowledge)
    if usageHistories?.isFolderTaken == false { supplyTimes?.end(host.hub.machine) }
    usageHistories?.end()
    let problems = stuck.map { "\($0): it has not stopped" } + host.hub.switchProblems
    for problem in problems { sink.write(.warning, problem) }
    // If there are problems, keep the copy of the board file: the next hub reads from it which devices are still on.
    if problems.isEmpty { inUse.forget() }
    return problems.isEmpty && !inUse.isLeft
  }
}
