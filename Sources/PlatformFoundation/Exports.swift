// URLs, data, dates and JSON. Apple's systems have them in Foundation alone; elsewhere the part without localisation
// makes a program start faster.
#if canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif
