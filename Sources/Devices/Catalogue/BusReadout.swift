/// The bytes that a driver transfers over the bus to read its chip.
public struct BusReadout: Sendable {
  /// A chip that is asked for one measurement at a time: its status, and up to seven bytes.
  static let polled = BusReadout(bytesPerSample: 8, readsPerSample: 2, bytesPerBurst: 0, readsPerBurst: 0)

  /// Address and register, the address again, each with its acknowledge, and what begins and ends a read.
  private static let clocksPerRead = 30.0
  private static let clocksPerByte = 9.0

  var bytesPerSample: Int
  /// Beyond those of a whole burst.
  var readsPerSample: Int
  /// Beyond the samples.
  var bytesPerBurst: Int
  var readsPerBurst: Int

  /// - Parameters:
  ///   - bytesPerSample: in the FIFO
  ///   - bytesPerBurst: for how much waits there
  ///   - readsPerBurst: one for that, one for all samples
  init(bytesPerSample: Int, readsPerSample: Int = 0, bytesPerBurst: Int = 2, readsPerBurst: Int = 2) {
    self.bytesPerSample = bytesPerSample
    self.readsPerSample = readsPerSample
    self.bytesPerBurst = bytesPerBurst
    self.readsPerBurst = readsPerBurst
  }

  /// How many clocks a second the bus is busy for it.
  ///
  /// - Parameters:
  ///   - rateHz: samples a second
  ///   - burstRateHz: how often the FIFO is emptied
  func clocks(rateHz: Double, burstRateHz: Double) -> Double {
    let sample = Double(bytesPerSample) * BusReadout.clocksPerByte + Double(readsPerSample) * BusReadout.clocksPerRead
    let burst = Double(bytesPerBurst) * BusReadout.clocksPerByte + Double(readsPerBurst) * BusReadout.clocksPerRead
    return rateHz * sample + burstRateHz * burst
  }
}
