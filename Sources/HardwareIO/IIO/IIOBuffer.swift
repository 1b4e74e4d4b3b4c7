import Glibc

/// The scans that the kernel takes of a sensor and keeps until they are read. Creating this value sets the buffer up;
/// destroying it restores the previous settings.
///
/// Traps: the kernel stamps scans by the clock of the day unless it is told otherwise; the numbers of a scan are
/// aligned to multiples of their own size; a full buffer silently drops the newest scans; the settings of a killed
/// program remain.
public final class IIOBuffer {
  /// The number of scans per read.
  private static let readCount = 32

  public let device: IIODevice
  public let layout: IIOScanLayout
  /// For `poll`: readable once as many scans wait as the watermark says. -1 once it is closed.
  public private(set) var fileDescriptor: Int32
  private let files: any IIOFiles
  /// Kept as long as it is needed.
  private let timer: IIOTimerTrigger?
  private var changes: IIOChanges
  private var isEnabled = false
  private let bytes: UnsafeMutableRawBufferPointer

  /// Has the kernel take scans.
  ///
  /// - Parameters:
  ///   - channels: of the device; the time is added
  ///   - length: how many scans the kernel keeps
  ///   - watermark: how many are worth waking a reader for, and how many a chip with a FIFO of its own collects
  ///   - timer: for a device that has no trigger of its own and needs one (`IIODevice.needsTimer`)
  public init(
    _ device: IIODevice, channels: [IIOChannel], length: Int, watermark: Int, timer: IIOTimerTrigger?
  ) throws(HardwareError) {
    guard let timestamp = try device.channel("in_timestamp") else {
      throw .unsupported("\(device) does not say when it measured")
    }
    layout = try IIOScanLayout(channels, timestamp: timestamp)
    // Before anything is changed: the kernel lets one program have it.
    fileDescriptor = try IIOBuffer.open(device)
    self.device = device
    files = device.system.files
    self.timer = timer
    changes = IIOChanges(device.system.files)
    bytes = .allocate(byteCount: IIOBuffer.readCount * layout.byteCount, alignment: 8)
    do throws(HardwareError) {
      try disable()
      try setClock()
      try choose(channels + [timestamp])
      try changes.set("\(length)", device.path(of: "buffer/length"))
      // Not above the length, and not there in some kernels.
      let watermarkPath = device.path(of: "buffer/watermark")
      if files.has(watermarkPath) { try changes.set("\(watermark)", watermarkPath) }
      try setTrigger()
      try files.write("1", to: device.path(of: "buffer/enable"))
      isEnabled = true
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
    bytes.deallocate()
  }

  /// Takes whole scans as they are, oldest first, without waiting.
  ///
  /// - Returns: how many bytes they have; 0 where none waits
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    let whole = buffer.count / layout.byteCount * layout.byteCount
    let count = try take(UnsafeMutableRawBufferPointer(rebasing: buffer[..<whole]))
    guard count.isMultiple(of: layout.byteCount) else {
      throw .unexpectedDevice("the scans of \(device) are not as long as the types of their elements say")
    }
    return count
  }

  /// Takes the waiting scans, oldest first, without waiting.
  ///
  /// - Parameter limit: the maximum number; the rest remains
  public func read(atMost limit: Int, _ take: (IIOScan) -> Void) throws(HardwareError) {
    var taken = 0
    while taken < limit {
      let wanted = min(limit - taken, IIOBuffer.readCount)
      let room = UnsafeMutableRawBufferPointer(rebasing: bytes[..<(wanted * layout.byteCount)])
      let count = try read(into: room) / layout.byteCount
      for index in 0..<count {
        let place = index * layout.byteCount
        take(layout.decode(UnsafeRawBufferPointer(rebasing: bytes[place..<(place + layout.byteCount)])))
      }
      taken += count
      if count < wanted { return }
    }
  }

  /// Stops the scans and puts everything back; done too when the last reference goes.
  public func close() {
    guard fileDescriptor >= 0 else { return }
    if isEnabled { try? files.write("0", to: device.path(of: "buffer/enable")) }
    isEnabled = false
    changes.revert()
    _ = Glibc.close(fileDescriptor)
    fileDescriptor = -1
  }

  private static func open(_ device: IIODevice) throws(HardwareError) -> Int32 {
    do throws(HardwareError) {
      return try device.system.files.openDevice(device.node)
    } catch .inUse {
      throw .inUse("\(device)", holder: FileHolder.find(device.node))
    }
  }

  /// Stops the parts that have already started.
  private func disable() throws(HardwareError) {
    let path = device.path(of: "buffer/enable")
    if try files.text(path) == "0" { return }
    // Who enabled it does not have the device open, for this hub has: it was killed. Or it has the buffer in a newer way, for
    // which the device need not stay open: then this fails.
    _ = try take(bytes)
    try files.write("0", to: path)
  }

  private func setClock() throws(HardwareError) {
    let path = device.path(of: "current_timestamp_clock")
    do throws(HardwareError) {
      try changes.set("monotonic", path)
    } catch .notFound {
      throw .unsupported("the kernel does not say by which clock it stamps the scans of \(device)")
    } catch .system(_, let reason) {
      throw .system("having the scans of \(device) stamped by the monotonic clock", errno: reason)
    }
    guard try files.text(path) == "monotonic" else {
      throw .unsupported("the kernel goes on stamping the scans of \(device) by another clock than the monotonic one")
    }
  }

  private func choose(_ channels: [IIOChannel]) throws(HardwareError) {
    let wanted = Set(channels.map { "\($0.name)_en" })
    // The others first: not all channels go together.
    for name in files.names(in: device.elements) where name.hasSuffix("_en") && !wanted.contains(name) {
      try changes.set("0", "\(device.elements)/\(name)")
    }
    for channel in channels.sorted(by: { $0.index < $1.index }) {
      try changes.set("1", "\(device.elements)/\(channel.name)_en")
    }
  }

  private func setTrigger() throws(HardwareError) {
    let path = device.triggerPath
    guard files.has(path) else { return }
    if let own = device.dataReadyTrigger { return try changes.set(own, path) }
    guard let timer else { throw .unsupported("\(device) needs a trigger") }
    // A killed hub left it together with the timer, so there is nothing to restore.
    if try files.text(path) == timer.name { try files.write("\n", to: path) }
    do throws(HardwareError) {
      try changes.set(timer.name, path)
    } catch .system(_, EINVAL) {
      throw .unsupported(
        "the kernel's driver of \(device) takes no timer for a trigger: it needs the chip's interrupt line")
    }
  }

  private func take(_ buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    while true {
      let count = Glibc.read(fileDescriptor, buffer.baseAddress, buffer.count)
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      case EBUSY: throw .inUse("the buffer of \(device)", holder: nil)
      case ENODEV, EBADF: throw .disconnected("\(device)")
      case let reason: throw .system("reading \(device)", errno: reason)
      }
    }
  }
}

extension IIODevice {
  /// Whether it measures only when something triggers it, and nothing of its own does.
  public var needsTimer: Bool { system.files.has(triggerPath) && dataReadyTrigger == nil }

  /// It exists if scans are triggered; a chip with its own FIFO needs no trigger.
  fileprivate var triggerPath: String { path(of: "trigger/current_trigger") }

  /// The trigger that is the chip's own interrupt, by the two names that drivers give it; its other interrupts have others.
  fileprivate var dataReadyTrigger: String? {
    let names = ["\(name)-dev\(number)", "\(name)-trigger"]
    return system.triggers.first { names.contains($0.name) && system.parent(of: $0.folder) == parent }?.name
  }
}
