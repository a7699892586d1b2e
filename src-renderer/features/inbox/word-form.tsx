import { useEffect, useRef } from 'react'

/** A box for an answer in words: Enter gives it, Shift+Enter begins a line, Esc leaves it. */
export function WordBox({
  label,
  placeholder,
  value,
  disabled,
  takesFocus,
  onChange,
  onSend,
  onBack,
}: {
  label: string
  placeholder: string
  value: string
  disabled: boolean
  /** The person just asked for it. */
  takesFocus: boolean
  onChange: (text: string) => void
  onSend: () => void
  onBack: () => void
}) {
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (takesFocus) box.current?.focus()
  }, [takesFocus])
  return (
    <textarea
      ref={box}
      className="field q-words"
      rows={2}
      aria-label={label}
      placeholder={placeholder}
      value={value}
      readOnly={disabled}
      maxLength={1_000_000}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return
        if (event.key === 'Escape') {
          event.preventDefault()
          event.stopPropagation()
          onBack()
        }
        if (event.key === 'Enter' && !event.shiftKey && !event.altKey && !event.repeat) {
          event.preventDefault()
          event.stopPropagation()
          onSend()
        }
      }}
    />
  )
}
