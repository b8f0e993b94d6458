/// The entry point that libFuzzer calls; `scripts/fuzz` compiles it with `-D` and the target's name.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  #if FUZZ_CACHE_CONTROL
    let target = FuzzTarget.cacheControl
  #elseif FUZZ_DATE
    let target = FuzzTarget.date
  #elseif FUZZ_VARY
    let target = FuzzTarget.vary
  #elseif FUZZ_FIELD_LIST
    let target = FuzzTarget.fieldList
  #elseif FUZZ_JSON
    let target = FuzzTarget.json
  #elseif FUZZ_STATUS_LINE
    let target = FuzzTarget.statusLine
  #elseif FUZZ_RESP
    let target = TierFuzzTarget.resp
  #elseif FUZZ_SEALED_HEAD
    let target = TierFuzzTarget.sealedHead
  #else
    let target = FuzzTarget.message
  #endif
  if let violation = target.check(bytes) { fatalError(violation) }
  return 0
}
