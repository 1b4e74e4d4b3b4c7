/// Converts a rate from data sheets to the unit of the samples. Writing this out in each expectation would take Swift
/// 6.2 too long to type-check.
func radians(_ degrees: Float) -> Float { degrees * .pi / 180 }
