// URLs, data, dates and JSON: the part of Foundation without localisation, which makes a program start faster.
@_exported public import FoundationEssentials
