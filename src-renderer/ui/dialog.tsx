import { type ReactNode, useEffect, useRef } from 'react'

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
  useEffect(() => {
    const dialog = element.current
    if (dialog === null || dialog.open) return
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={element}
      aria-label={label}
      className={`dialog ${className ?? ''}`}
      onClose={onClose}
      onCancel={onClose}
      onPointerDown={(event) => {
        // A press beside the dialog lands on the dialog element itself.
        if (event.target === event.currentTarget) onClose()
      }}
    >
      {children}
    </dialog>
  )
}
