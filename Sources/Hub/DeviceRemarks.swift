/// What the owner of a device should know of it, one remark on each subject: one on another does not replace it.
struct DeviceRemarks: Sendable {
  enum Subject: CaseIterable, Sendable {
    /// What it waits for that the board before has left behind.
    case predecessor
    /// That it has hung up.
    case hangUp
    /// Why and how it is started anew.
    case restart
    /// That the supply which it measures is low.
    case supply
    /// Who disturbs its reception.
    case reception
    /// What it states that cannot be true.
    case values
    /// Why it gets no corrections.
    case corrections
    /// What has shown of the device itself or of how it is connected.
    case finding
    /// What did not go as its owner has ordered.
    case orders
    /// Why it does not wait for motion.
    case motion
    /// What its budget leaves it.
    case budget
  }

  private var texts: [Subject: String] = [:]

  /// `nil` where there is nothing to say, or any more.
  subscript(subject: Subject) -> String? {
    get { texts[subject] }
    set { texts[subject] = newValue }
  }

  /// All of them, in the order of the subjects; `nil` where there is none.
  var text: String? {
    let texts = Subject.allCases.compactMap { self.texts[$0] }
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }
}
