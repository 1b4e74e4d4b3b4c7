import Glibc

/// The scans that the kernel takes from a sensor and keeps until they are read. Creating this value sets up the buffer,
/// and destroying it restores the previous settings.
///
/// The kernel has these pitfalls:
/// - Scans are stamped with the system clock unless another clock is selected.
/// - Each number in a scan is aligned to a multiple of its own size.
/// - A full buffer silently drops the newest scans.
/// - Settings of a killed program remain.
public final class IIOBuffer {
  /// The number of scans per read.
  private static let readCount = 32

  public let device: IIODevice
  public let layout: IIOScanLayout
  /// The file descriptor for `poll`, readable once the number of waiting scans reaches the watermark. -1 after closing.
  public private(set) var fileDescriptor: Int32
  private let files: any IIOFiles
  /// The timer that triggers the scans; `nil` if the device needs none. The trigger exists as long as this value.
  private let timer: IIOTimerTrigger?
  private var changes: IIOChanges
  private var isEnabled = false
  private let bytes: UnsafeMutableRawBufferPointer

  /// Makes the kernel take scans.
  ///
  /// - Parameters:
  ///   - channels: the channels of the device to scan; the time stamp is added
  ///   - length: how many scans the kernel keeps
  ///   - watermark: how many scans wake a reader, and how many a chip collects in its own FIFO
  ///   - timer: for a device that needs a trigger and has none of its own (`IIODevice.needsTimer`)
  public init(
    _ device: IIODevice, channels: [IIOChannel], length: Int, watermark: Int, timer: IIOTimerTrigger?
  ) throws(HardwareError) {
    guard let timestamp = try device.channel("in_timestamp") else {
      throw .unsupported("\(device) has no timestamp channel")
    }
    layout = try IIOScanLayout(channels, timestamp: timestamp)
    // The device is opened before any setting changes, because the kernel allows only one program to open it.
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
      // The watermark cannot exceed the length, and some kernels have no watermark.
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

  /// Reads the waiting scans as raw bytes, oldest first, without blocking. Only whole scans are returned.
  ///
  /// - Returns: the number of bytes; 0 if no scan waits
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    let whole = buffer.count / layout.byteCount * layout.byteCount
    let count = try take(UnsafeMutableRawBufferPointer(rebasing: buffer[..<whole]))
    guard count.isMultiple(of: layout.byteCount) else {
      throw .unexpectedDevice("the length of the scans of \(device) does not match the types of their elements")
    }
    return count
  }

  /// Reads the waiting scans, oldest first, without blocking.
  ///
  /// - Parameter limit: the maximum number of scans; further scans remain
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

  /// Stops the scans and restores the previous settings. This also happens when the last reference is released.
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

  /// Disables the buffer if another program has left it enabled.
  private func disable() throws(HardwareError) {
    let path = device.path(of: "buffer/enable")
    if try files.text(path) == "0" { return }
    // The program that enabled the buffer does not have the device open, because this process does. Usually that
    // program was killed. If the program still runs and uses the kernel's newer buffer interface, which does not
    // require an open device, this read fails with EBUSY.
    _ = try take(bytes)
    try files.write("0", to: path)
  }

  private func setClock() throws(HardwareError) {
    let path = device.path(of: "current_timestamp_clock")
    do throws(HardwareError) {
      try changes.set("monotonic", path)
    } catch .notFound {
      throw .unsupported("the kernel does not report the clock of the timestamps of \(device)")
    } catch .system(_, let reason) {
      throw .system("switching the timestamps of \(device) to the monotonic clock", errno: reason)
    }
    guard try files.text(path) == "monotonic" else {
      throw .unsupported("the kernel did not switch the timestamps of \(device) to the monotonic clock")
    }
  }

  private func choose(_ channels: [IIOChannel]) throws(HardwareError) {
    let wanted = Set(channels.map { "\($0.name)_en" })
    // Other channels are switched off first, because some combinations of channels are not allowed.
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
    // A hub that was killed set this trigger, so it must not be restored later.
    if try files.text(path) == timer.name { try files.write("\n", to: path) }
    do throws(HardwareError) {
      try changes.set(timer.name, path)
    } catch .system(_, EINVAL) {
      throw .unsupported(
        "the kernel's driver of \(device) does not accept a timer as trigger: it needs the chip's interrupt line")
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
  /// Whether the device measures only on a trigger and has no trigger of its own.
  public var needsTimer: Bool { system.files.has(triggerPath) && dataReadyTrigger == nil }

  /// The path of the device's current trigger. The file exists only if scans need a trigger. A chip with its own FIFO
  /// needs none.
  fileprivate var triggerPath: String { path(of: "trigger/current_trigger") }

  /// The trigger for the chip's own data-ready interrupt. Drivers give it one of two names. `nil` if there is none.
  fileprivate var dataReadyTrigger: String? {
    let names = ["\(name)-dev\(number)", "\(name)-trigger"]
    return system.triggers.first { names.contains($0.name) && system.parent(of: $0.folder) == parent }?.name
  }
}
