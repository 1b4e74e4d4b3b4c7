import Testing

@testable import Guarding

struct LockRankTests {
  private static let outer = LockRank(10, "outer")
  private static let inner = LockRank(20, "inner")
  private static let group = LockRank(20, "group", mayNest: true)

  @Test func `a lock may be taken only under locks of an earlier rank`() {
    #expect(LockRankTests.outer.mayFollow(0))
    #expect(LockRankTests.inner.mayFollow(LockRankTests.outer.level))
    #expect(!LockRankTests.outer.mayFollow(LockRankTests.inner.level))
    #expect(!LockRankTests.inner.mayFollow(LockRankTests.inner.level))
    #expect(LockRankTests.group.mayFollow(LockRankTests.group.level))
    #expect(!LockRankTests.group.mayFollow(30))
  }

  #if DEBUG
    @Test func `a thread knows the innermost rank that it holds`() {
      let outer = Guarded(1, rank: LockRankTests.outer)
      let inner = Guarded(2, rank: LockRankTests.inner)
      let unranked = Guarded(3)
      let levels = outer.withLock { _ in
        let first = HeldRank.level
        let second = inner.withLock { _ in unranked.withLock { _ in HeldRank.level } }
        return [first, second, HeldRank.level]
      }
      #expect(levels == [10, 20, 10])
      #expect(HeldRank.level == 0)
    }

    @Test func `a wrong order stops the process`() async {
      await #expect(processExitsWith: .failure) {
        let outer = Guarded(1, rank: LockRankTests.outer)
        let inner = Guarded(2, rank: LockRankTests.inner)
        inner.withLock { _ in outer.withLock { _ in } }
      }
    }
  #endif
}
