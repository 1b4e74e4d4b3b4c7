import Devices
import HardwareIO
import MonotonicTime
import Publishing

/// The devices of one board in service. A registry does not change: `Hub.apply` makes another registry for each board,
/// with the readers of the devices that both boards have.
public final class DeviceRegistry: Sendable {
  public let board: Board
  /// The devices in the order of the board file.
  let entries: [BoardDevice]
  /// The receivers, and the selected one. If the next board has the same receivers, its registry has the same object.
  public let receivers: ReceiverSelection
  /// The preferred inertial sensor.
  public let imu: IMUReader?
  /// The energy meters, one for each supply monitor that measures the current of other devices.
  private let meters: [EnergyMeter]

  /// - Parameter old: the devices that are in service; `nil` at the start
  init(_ board: Board, on machine: Machine, after old: DeviceRegistry? = nil) {
    self.board = board
    let entries = board.devicesWithSharedTimes.map { description in
      old?.entries.lazy.compactMap { $0.described(as: description) }.first
        ?? machine.source.device(description, on: machine)
    }
    self.entries = entries
    for entry in entries {
      entry.reader.monitor.keep(
        machine.usageHistories.usageHistory(of: entry.description.id, entry.description.identity))
    }
    let receivers = ReceiverSelection(entries, on: board)
    self.receivers = old.flatMap { receivers.isLike($0.receivers) ? $0.receivers : nil } ?? receivers
    imu = board.imu.flatMap { DeviceRegistry.imu($0.id, of: entries) }
    meters = DeviceRegistry.meters(of: entries, on: board, like: old?.meters ?? [])
  }

  private static func meters(of entries: [BoardDevice], on board: Board, like old: [EnergyMeter]) -> [EnergyMeter] {
    entries.compactMap { entry in
      guard case .supplyMonitor(let description, let reader) = entry else { return nil }
      let devices = entries.filter { $0.description.power.monitor == description.id }.map(\.reader.monitor)
      if devices.isEmpty { return nil }
      let isOfBattery = board.battery?.monitor == description.id
      return old.first { $0.measures(devices, description, reader, isOfBattery: isOfBattery) }
        ?? EnergyMeter(of: devices, description, reader, isOfBattery: isOfBattery)
    }
  }

  /// Begins to measure the power of awake devices, which may start a supply monitor. Before this call, a new supply
  /// monitor must have been told to wait for the devices of the previous board that use the same hardware.
  func beginMeters() { for meter in meters { meter.begin() } }

  /// Ends the energy meters, except those that continue with other devices.
  func endMeters(except next: DeviceRegistry? = nil) {
    for meter in meters where next?.meters.contains(where: { $0 === meter }) != true { meter.end() }
  }

  // MARK: Finding devices

  var readers: [any Device] { entries.map(\.reader) }

  public var monitors: [DeviceMonitor] { entries.map(\.reader.monitor) }

  func has(_ reader: any Device) -> Bool { entries.contains { $0.reader === reader } }

  /// Whether another registry has the same preferred receiver and the same preferred inertial sensor, so that the last
  /// state describes its board too.
  func hasSameSource(as other: DeviceRegistry) -> Bool {
    let receiver = receivers.candidates.first?.reader
    return receiver != nil && receiver === other.receivers.candidates.first?.reader && imu === other.imu
  }

  /// Whether the fused devices are those of another registry: the same readers of receivers and inertial sensors, and
  /// the same chips of other kinds, whose readers may differ. The estimate continues if the settings of the fusion are
  /// equal too, which `FusionLog` compares.
  func continuesFusion(of other: DeviceRegistry) -> Bool {
    fused.elementsEqual(other.fused) { new, old in
      switch new.description.kind {
      case .receiver, .imu: new.reader === old.reader
      case .magnetometer, .barometer, .supplyMonitor:
        new.description.id == old.description.id && new.description.identity == old.description.identity
      }
    }
  }

  func reader(_ id: String) -> (any Device)? { entries.lazy.map(\.reader).first { $0.monitor.id == id } }

  func receiver(_ id: String) -> ReceiverSelection.Candidate? {
    receivers.candidates.first { $0.description.id == id }
  }

  /// The reader of a receiver, whether the fusion uses it or not.
  func receiverReader(_ id: String) -> ReceiverReader? {
    entries.lazy.compactMap { entry in
      if case .receiver(let description, let reader) = entry, description.id == id { reader } else { nil }
    }.first
  }

  func imu(_ id: String) -> IMUReader? { DeviceRegistry.imu(id, of: entries) }

  private static func imu(_ id: String, of entries: [BoardDevice]) -> IMUReader? {
    entries.lazy.compactMap {
      if case .imu(let description, let reader) = $0, description.id == id { reader } else { nil }
    }
    .first
  }

  func magnetometer(_ id: String) -> MagnetometerReader? {
    entries.lazy.compactMap { entry in
      if case .magnetometer(let description, let reader) = entry, description.id == id { reader } else { nil }
    }.first
  }

  func supplyMonitor(_ id: String) -> (description: SupplyMonitorDescription, reader: SupplyMonitorReader)? {
    entries.lazy.compactMap { entry in
      if case .supplyMonitor(let description, let reader) = entry, description.id == id {
        (description, reader)
      } else {
        nil
      }
    }.first
  }

  /// The fused magnetometers.
  var magnetometers: [MagnetometerReader] {
    fused.compactMap { if case .magnetometer(_, let reader) = $0 { reader } else { nil } }
  }

  /// The devices whose measurements are fused.
  private var fused: [BoardDevice] { entries.filter { board.fusedDevices.contains($0.description.id) } }

  /// The motion detector that lets receivers sleep; `nil` if there is none. It belongs to the first fused inertial
  /// sensor that has a motion detector and may use it according to the board file. A sensor that shares a supply with a
  /// receiver does not count, because the receiver would stay on.
  var motion: StillnessMonitor? {
    for case .imu(let description, let reader) in fused {
      guard description.wakesOnMotion, let motion = reader.motion else { continue }
      let isWithReceiver = entries.contains { entry in
        if case .receiver(_, let receiver) = entry { receiver.device.rail === reader.rail } else { false }
      }
      if !isWithReceiver { return motion }
    }
    return nil
  }

  /// The receivers for which the board file names a caster.
  public var correctedReceivers: [(id: String, caster: CasterSettings, corrections: ReceiverCorrections)] {
    entries.compactMap { entry in
      guard case .receiver(let description, let reader) = entry, let caster = description.caster else { return nil }
      return (description.id, caster, reader.corrections)
    }
  }

  // MARK: Leases

  /// The fused devices that measure some parts of the state, in the order of the board file.
  private func devices(for parts: Set<StatePart>) -> [BoardDevice] {
    let kinds = parts.kinds(on: board)
    return fused.filter { kinds.contains($0.description.kind) }
  }

  /// Identifies the readers of the devices that measure some parts of the state.
  func identities(for parts: Set<StatePart>) -> [ObjectIdentifier] {
    devices(for: parts).map { ObjectIdentifier($0.reader) }
  }

  /// Keeps the devices that measure some parts of the state awake.
  func lease(on parts: Set<StatePart>, as holders: Holders, clock: any MonotonicTimeSource) -> Subscription {
    let devices = devices(for: parts)
    // One working inertial sensor is enough. Of the other kinds, each device improves the measurements.
    let imus = devices.filter { $0.description.kind == .imu }.map(\.reader)
    let others = devices.filter { $0.description.kind != .imu }.map(\.reader)
    let lifetime = Lifetime()
    for reader in others {
      reader.powerLease.subscribe(as: holders, receiveValue: { _ in }).store(in: lifetime)
    }
    let standby = StandbyLease(imus[...], as: holders, clock: clock)
    Subscription { standby.end() }.store(in: lifetime)
    return Subscription { lifetime.end() }
  }

  // MARK: Problems

  /// The supplies that could not be switched off, in words.
  public var switchProblems: [String] {
    monitors.compactMap { monitor in monitor.switchProblem.map { "\(monitor.id): \($0)" } }
  }

  /// The IDs of devices whose power line the hub has never driven, so that the line is as the hub found it.
  public var undrivenLines: [String] {
    readers.filter { $0.rail.switch != .none && !$0.rail.hasBeenDriven }.map(\.monitor.id)
  }

  /// The reasons why there is no pulse although the board file names its source.
  public var pulseProblems: [String] {
    receivers.candidates.compactMap { receiver in
      guard let path = receiver.description.pulse else { return nil }
      do throws(HardwareError) {
        _ = try PulsePerSecond(path)
        return nil
      } catch {
        return "\(receiver.description.id): no pulse, so the time is only as accurate as the serial line: \(error)"
      }
    }
  }
}
