import CacheStore
import DataService

extension Remedy {
  /// The remedy in this command's terms: the only place where a remedy becomes an option or a verb.
  var words: String {
    switch code {
    case .freeSpace: "free some disk space, or name another store with --store PATH"
    case .writableStore: "name a store you may write to with --store PATH or $CACHEFETCH_STORE"
    case .newerRelease: "it was left alone: update cachefetch, or name another store with --store PATH"
    case .otherFile: "it was left alone: name another with --store PATH"
    case .regularFile: "name another with --store PATH"
    case .nameStore: "name one with --store PATH or $CACHEFETCH_STORE"
    case .ownFolder: "name a store in a folder of your own with --store PATH"
    case .ownFile: "name a file of your own with --store PATH"
    case .ownStore: "name a store of your own with --store PATH, if that is not meant"
    case .repair: "run “cachefetch doctor --repair\(store)”"
    case .repairRemoves: "“cachefetch doctor --repair\(store)” removes what was found"
    case .restoreKey: "restore it, or remove them with “cachefetch doctor --repair\(store)”"
    case .checkStore: "run “cachefetch doctor\(store)” to check the rest"
    case .removePinned:
      "unmark or remove a pinned entry that “cachefetch list\(store)” shows, or raise the limit with \(limits)"
    case .removeThem: "“cachefetch rm\(store) \(selection)” removes all that is stored for it"
    case .largerStore: "raise the limit with \(limits)"
    case .smallerStore: "lower the limit with \(limits)"
    case .longerDeadline: "allow more time with --deadline"
    case .endPause:
      "what is stored is unaffected; try again then, or run “cachefetch rm --pause\(store) \(selection)”"
    case .longerConnectTimeout: "try again, or allow more time (--connect-timeout)"
    case .longerTimeout: "try again, or allow more time (--timeout)"
    case .largerBody: "raise the limit with --max-body SIZE if you trust the server"
    case .certificateAuthority: "if it is yours, give its authority's certificate (--cacert)"
    case .asSent:
      "ask for its bytes as they come (--no-compressed)"
    case .asStored: "print its bytes as they are with get --offline --no-compressed, or fetch it anew"
    case .clientCertificate: "give one and its key (--cert, --key-file)"
    case .tryAgain, .descriptors, nil: text
    }
  }
}

extension Remedy {
  /// The command that sets the limit.
  private var limits: String {
    let option =
      switch detail {
      case .bytes(let bytes): "--bytes \(SizeText.text(bytes))"
      case .rows(let rows): "--rows \(rows)"
      case .target, nil: ""
      }
    return "“cachefetch limits\(store) \(option)”"
  }

  /// What selects the entries concerned, as a shell reads it. A digest in the place of a secret is found as text alone.
  private var selection: String {
    guard case .target(let target) = detail else { return "" }
    return (target.contains("=~") ? "--prefix " : "") + StoreLocation.quoted(target)
  }
}

/// Computed only for remedies that name the store: it parses the command line, which may be what failed.
private var store: String { StoreLocation.repeatedOption }

extension DataServiceError {
  /// The remedy in this command's terms.
  var advice: String? { remedy?.words }
}

extension CacheStoreError {
  /// The remedy in this command's terms.
  var advice: String? { remedy?.words }
}
