/**
 * A failure of the set-up that a person can act on.
 *
 * `code` is stable and in capitals, `message` names the thing and the cause, `hint` the next step.
 */
export class GroundError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} hint
   * @param {unknown} [cause]
   */
  constructor(code, message, hint, cause) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'GroundError'
    this.code = code
    this.hint = hint
  }
}

/**
 * Text for the terminal: message, cause and next step, one a line; other errors with their stack.
 * @param {unknown} error
 */
export function describeError(error) {
  if (error instanceof GroundError) {
    const cause = error.cause instanceof Error ? `\n  cause: ${error.cause.message}` : ''
    return `${error.code}: ${error.message}${cause}\n  next:  ${error.hint}`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
