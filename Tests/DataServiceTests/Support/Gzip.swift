/// Bodies in the gzip coding, made once with another program.
enum Gzip {
  /// `hello`.
  static let hello: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
  ]

  /// The first bytes of `hello`, without the end of the stream and without the trailer.
  static let cutOff: [UInt8] = [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205]

  /// 2 MiB of zeros in 2,067 bytes.
  static let bomb: [UInt8] =
    [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 49, 1, 0, 0, 0, 194, 160, 245, 79, 109, 12, 31, 160]
    + [UInt8](repeating: 0, count: 2_032) + [190, 6, 126, 135, 137, 141, 0, 0, 32, 0]
}
