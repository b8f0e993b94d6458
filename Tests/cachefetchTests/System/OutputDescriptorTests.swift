import PlatformC
import PlatformFoundation
import Testing
import TestTurns

@testable import cachefetch

@Suite("System: bytes written to a descriptor", .inTurn) struct OutputDescriptorTests {
  @Test func `all bytes are written, and none where there are none`() throws {
    let written = try WrittenText()
    try written.output.write([UInt8]())
    try written.output.write("a")
    try written.output.write(Data([0x62]))
    try written.output.write([0x63])
    #expect(written.text == "abc")
  }

  @Test @MainActor func `a descriptor that does not block is waited for`() async throws {
    var pipe: [Int32] = [-1, -1]
    #expect(PlatformC.pipe(&pipe) == 0)
    let (reader, writer) = (pipe[0], pipe[1])
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
    let count = 1 << 20
    let reading = Task.detached {
      var (all, buffer) = (0, [UInt8](repeating: 0, count: 4_096))
      while case let read = read(reader, &buffer, buffer.count), read > 0 { all += read }
      return all
    }
    try OutputDescriptor(number: writer).write([UInt8](repeating: 7, count: count))
    close(writer)
    #expect(await reading.value == count)
    close(reader)
  }

  @Test func `what cannot be written is an error with its number`() {
    let closed = OutputDescriptor(number: -1)
    #expect(throws: OutputError.failed(EBADF, path: nil)) { try closed.write([1]) }
    #expect(throws: OutputError.failed(EBADF, path: nil)) { try closed.write(Data([1])) }
    #expect(throws: OutputError.failed(EBADF, path: nil)) { try closed.write("a") }
  }
}
