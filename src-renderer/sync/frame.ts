/** Calls `flush` at most once per animation frame, at once when the frame is still free. */
export type FrameGate = { request(): void; stop(): void }

/** The longest that a window which draws no frames (hidden) keeps something back. */
const HIDDEN_LIMIT_MS = 200

export type Frames = {
  nextFrame(callback: () => void): () => void
  after(ms: number, callback: () => void): () => void
}

const browserFrames: Frames = {
  nextFrame: (callback) => {
    const id = requestAnimationFrame(callback)
    return () => cancelAnimationFrame(id)
  },
  after: (ms, callback) => {
    const id = setTimeout(callback, ms)
    return () => clearTimeout(id)
  },
}

/**
 * The first request of a frame is served at once, so that it is painted by that very frame;
 * all that come before the next frame are served together when it begins.
 */
export function frameGate(flush: () => void, frames: Frames = browserFrames): FrameGate {
  let waiting = false
  let wanted = false
  let cancelFrame = () => {}
  let cancelTimer = () => {}

  const open = () => {
    cancelFrame()
    cancelTimer()
    waiting = false
    if (!wanted) return
    wanted = false
    run()
  }
  const run = () => {
    waiting = true
    cancelFrame = frames.nextFrame(open)
    cancelTimer = frames.after(HIDDEN_LIMIT_MS, open)
    flush()
  }
  return {
    request: () => {
      if (waiting) wanted = true
      else run()
    },
    stop: () => {
      cancelFrame()
      cancelTimer()
      waiting = true
      wanted = false
    },
  }
}
