import type { Refusal } from '../../src-shared/refusal.ts'
import { InlineCode } from './inline-code.tsx'

/** Says in place what went wrong and what to do next. */
export function RefusalNote({
  refusal,
  onRetry,
  onClose,
}: {
  refusal: Refusal
  onRetry?: () => void
  onClose?: () => void
}) {
  return (
    <div className="refusal" role="alert" data-code={refusal.code}>
      <i className="dot dot-bad" aria-hidden="true" />
      <div className="refusal-text">
        <strong>
          <InlineCode text={refusal.message} />
        </strong>
        {refusal.hint === undefined ? null : (
          <span>
            <InlineCode text={refusal.hint} />
          </span>
        )}
      </div>
      {onRetry === undefined ? null : (
        <button type="button" className="btn" onClick={onRetry}>
          Try again
        </button>
      )}
      {onClose === undefined ? null : (
        <button
          type="button"
          className="btn-quiet"
          aria-label="Close this message"
          onClick={onClose}
        >
          ×
        </button>
      )}
    </div>
  )
}
