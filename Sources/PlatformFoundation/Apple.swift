// URLs, data, dates and JSON, which Apple's systems have in Foundation alone.
@_exported public import Foundation
