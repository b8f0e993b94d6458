import DataService
import Launch
import NewsModels

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A news reader in a terminal, as plain text.
///
///     swift run NewsReader ORIGIN-URL [FOLDER]
@main struct NewsReader {
  static func main() async {
    let arguments = CommandLine.arguments
    guard (2...3).contains(arguments.count), let origin = URL(string: arguments[1]), origin.host() != nil
    else {
      return print("usage: NewsReader ORIGIN-URL [FOLDER]")
    }
    let folder = arguments.count == 3 ? arguments[2] : "."
    let service = DataService(
      configuration: .init(store: StoreConfiguration(path: folder + "/store.sqlite")))
    let session = Session(
      service: service, credentials: FileCredentials(path: folder + "/credential.json"))
    await TextScreen(ReaderModel(api: NewsAPI(origin: origin), service: service, session: session)).run()
    await service.close()
  }
}
