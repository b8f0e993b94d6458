/// What a person can do about a failure or a finding.
package struct Remedy: Hashable, Sendable {
  /// The remedy, for the command, which has words of its own. Later releases may add cases.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    /// Try again.
    case tryAgain
    /// Allow the process more open files.
    case descriptors
    /// Free some disk space.
    case freeSpace
    /// Name a store that may be written.
    case writableStore
    /// Use the release that wrote the store, or a newer one.
    case newerRelease
    /// Name another file for the store, since this one is not a store.
    case otherFile
    /// Name another file for the store, since this is not a regular file.
    case regularFile
    /// Name a file for the store, since there is no default location.
    case nameStore
    /// Keep the store in a folder that only its user can change.
    case ownFolder
    /// Keep the store in a file that its user owns.
    case ownFile
    /// Name another store if this one is not meant to be read only.
    case ownStore
    /// Repair the store.
    case repair
    /// Repair the store, which removes what the check found.
    case repairRemoves
    /// Restore the digest key, or repair the store, which removes the entries that cannot be found without the key.
    case restoreKey
    /// Verify the rest of the store.
    case checkStore
    /// Remove a pinned entry, or raise the store's limit.
    case removePinned
    /// Remove what is stored for the URL that the message names.
    case removeThem
    /// Raise the store's limit.
    case largerStore
    /// Lower the store's limit.
    case smallerStore
    /// Allow more time until a fresh response counts as late.
    case longerDeadline
    /// Try again once the pause is over, or end it.
    case endPause
    /// Allow more time for connecting.
    case longerConnectTimeout
    /// Allow more time for the whole load.
    case longerTimeout
    /// Raise the limit for bodies.
    case largerBody
    /// Name the certificate authority of the server.
    case certificateAuthority
    /// Ask for a body as it comes, whatever coding it is in.
    case asSent
    /// Read what is stored in the content coding that it is in, or fetch it anew, decoded.
    case asStored
    /// Give a client certificate and its key.
    case clientCertificate
  }

  /// What the command needs beside the code for words that can be typed as they are.
  package enum Detail: Hashable, Sendable {
    /// A limit of the store that would do, in bytes.
    case bytes(Int64)
    /// A limit of the store that would do, in entries.
    case rows(Int)
    /// The target of the entries concerned.
    case target(String)
  }

  /// The remedy's code; `nil` where the text says everything.
  package let code: Code?
  /// One line for a person, in words that fit every program.
  package let text: String
  /// What it is about, for the codes that need it.
  package let detail: Detail?

  /// A remedy without a code.
  package init(_ text: String) {
    code = nil
    self.text = text
    detail = nil
  }

  private init(_ code: Code, _ text: String, _ detail: Detail? = nil) {
    self.code = code
    self.text = text
    self.detail = detail
  }
}

extension Remedy: ExpressibleByStringInterpolation {
  /// A remedy without a code.
  package init(stringLiteral value: String) { self.init(value) }
}

/// The words for each code, in one place.
extension Remedy {
  package static let tryAgain = Self(.tryAgain, "try again")
  package static let descriptors = Self(.descriptors, "raise the limit (ulimit -n)")
  package static let freeSpace = Self(.freeSpace, "free some disk space, or keep the store on another disk")
  package static let writableStore = Self(.writableStore, "keep the store where it may be written")
  package static let newerRelease = Self(
    .newerRelease, "it was left alone: use a release that is as new, or another store")
  package static let otherFile = Self(.otherFile, "it was left alone: name another file for the store")
  package static let regularFile = Self(.regularFile, "name another file for the store")
  package static let nameStore = Self(.nameStore, "name a file for the store")
  package static let ownFolder = Self(.ownFolder, "keep the store in a folder of your own")
  package static let ownFile = Self(.ownFile, "name a file of your own")
  package static let ownStore = Self(.ownStore, "name a store of your own, if that is not meant")
  package static let repair = Self(.repair, "repair the store")
  package static let repairRemoves = Self(.repairRemoves, "a repair removes what was found")
  package static let restoreKey = Self(.restoreKey, "restore it; a repair removes them")
  package static let checkStore = Self(.checkStore, "verify the rest of the store")
  package static func removePinned(orAllow limit: Detail) -> Self {
    Self(.removePinned, "unpin or remove a pinned entry, or raise the store's limit", limit)
  }
  package static func removeThem(of target: String) -> Self {
    Self(.removeThem, "remove them", .target(target))
  }
  package static func largerStore(_ bytes: Int64) -> Self {
    Self(.largerStore, "raise the store's limit", .bytes(bytes))
  }
  package static func smallerStore(_ bytes: Int64) -> Self {
    Self(.smallerStore, "lower the store's limit", .bytes(bytes))
  }
  package static let longerDeadline = Self(.longerDeadline, "allow more time until the deadline")
  package static func endPause(of host: String) -> Self {
    Self(.endPause, "try again then; what is stored is unaffected", .target(host))
  }
  package static let longerConnectTimeout = Self(
    .longerConnectTimeout, "try again, or allow more time for connecting")
  package static let longerTimeout = Self(.longerTimeout, "try again, or allow more time")
  package static let lookFirst = Self(
    "the server may have carried it out: look there before it is sent again")
  package static let largerBody = Self(.largerBody, "raise the limit for bodies if you trust the server")
  package static let certificateAuthority = Self(
    .certificateAuthority, "if it is yours, name its certificate authority")
  package static let asSent = Self(
    .asSent,
    "ask for its bytes as they come: with an Accept-Encoding of your own, and isCompressed off")
  package static let asStored = Self(
    .asStored, "read its bytes as they are, with isCompressed off, or fetch it anew")
  package static let clientCertificate = Self(.clientCertificate, "give one and its key")
}
