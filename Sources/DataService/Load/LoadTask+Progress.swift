// Reports the body's progress at a limited rate.
extension LoadTask {
  func received(_ update: DataService.TransferProgress) {
    guard let progress else { return }
    let now = core.timekeeper.bootNanoseconds
    let step = state.withLock { state -> ProgressRate.Step in
      guard !state.isCancelled else { return .hold }
      return state.progressRate.take(update, at: now)
    }
    switch step {
    case .tell: progress(update)
    case .wait(let delay):
      let timer = core.timekeeper.after(delay) { [weak self] in self?.tellHeldProgress() }
      state.withLock { $0.progressTimer = timer }
    case .hold: break
    }
  }

  private func tellHeldProgress() {
    let now = core.timekeeper.bootNanoseconds
    let update = state.withLock { $0.progressRate.due(at: now) }
    if let update { progress?(update) }
  }

  /// Ends the progress reports: the body is complete, or the load is over.
  func endProgress() {
    guard progress != nil else { return }
    let timer = state.withLock { state -> TimerHandle? in
      defer { state.progressTimer = nil }
      state.progressRate.end()
      return state.progressTimer
    }
    timer?.cancel()
  }
}
