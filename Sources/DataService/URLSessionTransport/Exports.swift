// Where the transport is a target of its own it is written on DataService; where DataService has it, there is nothing else here.
@_exported public import DataService
