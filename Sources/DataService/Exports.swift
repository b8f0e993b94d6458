// Fields, limits and what is stored are types of CacheStore: who imports DataService has them with it.
@_exported public import CacheStore
