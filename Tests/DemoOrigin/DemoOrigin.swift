@main struct DemoOrigin { static func main() {} }
