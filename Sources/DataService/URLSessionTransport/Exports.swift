// Re-exports DataService to those who import this target. In the portable build DataService has the transport
// itself, and this file is all there is here.
@_exported public import DataService
