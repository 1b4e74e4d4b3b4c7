/// A rate as data sheets give it, in the unit of the samples. (Written out in each expectation it is more than Swift 6.2 reads in
/// reasonable time.)
func radians(_ degrees: Float) -> Float { degrees * .pi / 180 }
