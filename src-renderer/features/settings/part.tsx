import type { ReactNode } from 'react'

/** One thing that is set: what it is, and its fields. */
export function Part({
  title,
  help,
  children,
}: {
  title: string
  help?: string
  children: ReactNode
}) {
  return (
    <section className="set">
      <div>
        <h3>{title}</h3>
        {help === undefined ? null : <p className="form-help">{help}</p>}
      </div>
      <div className="set-body">{children}</div>
    </section>
  )
}
