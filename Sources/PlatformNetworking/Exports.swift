// URLSession, and what it does otherwise outside Apple's systems.
#if canImport(FoundationNetworking)
  @_exported public import Foundation
  @_exported public import FoundationNetworking

  /// Whether a task can be cancelled and suspended at any time. In swift-corelibs-foundation, cancelling one that is about
  /// to complete hangs or crashes the process, and a suspended task still receives data.
  package let tasksCanBeStopped = false
  /// Whether the default handling of a challenge completes the task. swift-corelibs-foundation asks when the whole
  /// response is there, and does not complete the task after the default.
  package let challengesHaveDefaults = false
  /// The challenges that concern the connection, not the request: the credentials of a request are its own fields. Never
  /// made here, and their constants are unavailable; the names are for tests.
  package var connectionChallenges: [String] {
    ["NSURLAuthenticationMethodServerTrust", "NSURLAuthenticationMethodClientCertificate"]
  }
#else
  @_exported public import Foundation

  package let tasksCanBeStopped = true
  package let challengesHaveDefaults = true
  package var connectionChallenges: [String] {
    [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
  }
#endif
