import { type ReactNode, useLayoutEffect, useRef } from 'react'

/** A modal dialog of the browser: it keeps the focus inside, closes with Escape and gives the focus back. */
export function Dialog({
  label,
  className,
  onClose,
  children,
}: {
  label: string
  className?: string
  onClose: () => void
  children: ReactNode
}) {
  const element = useRef<HTMLDialogElement>(null)
  /** Its end is told after it left the page, when another dialog may be in its place. */
  const isGone = useRef(false)
  const close = () => {
    if (!isGone.current) onClose()
  }
  // Before the next key press arrives, so that what is typed at once goes into the dialog.
  useLayoutEffect(() => {
    const dialog = element.current
    if (dialog === null || dialog.open) return
    dialog.showModal()
    // The browser gives the focus to the dialog itself where its content is no form.
    dialog.querySelector<HTMLElement>('input, select, button')?.focus()
    return () => {
      isGone.current = true
      dialog.close()
    }
  }, [])
  return (
    <dialog
      ref={element}
      aria-label={label}
      className={`dialog ${className ?? ''}`}
      onClose={close}
      onCancel={close}
      onPointerDown={(event) => {
        // A press beside the dialog lands on the dialog element itself.
        if (event.target === event.currentTarget) onClose()
      }}
    >
      {children}
    </dialog>
  )
}
