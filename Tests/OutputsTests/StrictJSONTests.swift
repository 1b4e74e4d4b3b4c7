import Testing

@testable import Outputs

/// Text that becomes a part of another document must be JSON for every parser.
struct StrictJSONTests {
  @Test(arguments: [
    "{}", #" { "a" : [ 1 , -0.5e+3 , 10E2, 0, "x\n\u00e9\"", {} , [ ], true,false,null ] } "#,
    #"{"devices":[],"é":"∢"}"#,
    #"{"x":\#(String(repeating: "[", count: 60))\#(String(repeating: "]", count: 60))}"#,
  ])
  func `a valid JSON object is accepted`(_ text: String) { #expect(StrictJSON.isObject(Array(text.utf8))) }

  @Test(arguments: [
    "", "{", "[]", "{}{}", "{,}", "\u{feff}{}", #"{"a":1,}"#, #"{"a":[1,]}"#, #"{"a""#, #"{"a"}"#, #"{a:1}"#,
    #"{"a":1}x"#, #"{"a":"\q"}"#, #"{"a":"\u12g4"}"#, #"{"a":"\u12"}"#, "{\"a\":\"\u{1}\"}", #"{"a":1-1}"#,
    #"{"a":01}"#, #"{"a":-}"#,
    #"{"a":1.}"#, #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":tru}"#, #"{"a":NaN}"#, #"{"a":1,"a":2}"#, #"{"\u0061":1}"#,
    #"{"x":\#(String(repeating: "[", count: 500))\#(String(repeating: "]", count: 500))}"#,
  ])
  func `ambiguous JSON is refused`(_ text: String) { #expect(!StrictJSON.isObject(Array(text.utf8))) }

  @Test func `text in another encoding than UTF-8 is refused`() {
    let text = #"{"devices":[],"x":"∢"}"#
    #expect(!StrictJSON.isObject(text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }))
    #expect(!StrictJSON.isObject(Array(#"{"x":""#.utf8) + [0xFF] + Array("\"}".utf8)))
  }

  @Test func `a hub whose name cannot be read is not listed`() {
    var fleet = FleetListing(topic: "sensorhub")
    for text in [#"{"devices":[],"x":"\q"}"#, #"{"devices":[],"devices":5}"#, #"{"devices":[],}"#] {
      #expect(fleet.take("sensorhub/boat/devices", Array(text.utf8)) == nil, "\(text)")
    }
    #expect(fleet.take("sensorhub/boat/devices", Array(#"{"devices":[]}"#.utf8)) == "boat")
  }
}
