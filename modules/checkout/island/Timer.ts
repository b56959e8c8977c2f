/** One timer of the page: set anew, it forgets what it was set for before. */
export interface Timer {
  /** Calls `run` in so many milliseconds, and nothing that was to be called before. */
  readonly set: (millis: number, run: () => void) => void
  readonly stop: () => void
  readonly isSet: () => boolean
}

export const makeTimer = (): Timer => {
  let handle: ReturnType<typeof setTimeout> | undefined
  const stop = () => {
    clearTimeout(handle)
    handle = undefined
  }
  return {
    stop,
    isSet: () => handle !== undefined,
    set: (millis, run) => {
      stop()
      handle = setTimeout(() => {
        handle = undefined
        run()
      }, millis)
    }
  }
}
