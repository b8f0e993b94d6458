@main struct CacheFetch { static func main() {} }
