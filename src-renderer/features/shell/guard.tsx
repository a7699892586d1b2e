import { Component, type ReactNode } from 'react'

type State = { error: Error | null; name: string }

/** Keeps a defect of one part from taking the window down; another page in its place begins anew. */
export class Guard extends Component<{ name: string; children: ReactNode }, State> {
  override state: State = { error: null, name: this.props.name }

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  static getDerivedStateFromProps(props: { name: string }, state: State): State | null {
    return props.name === state.name ? null : { error: null, name: props.name }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <div className="page">
        <div className="refusal" role="alert">
          <i className="dot dot-bad" aria-hidden="true" />
          <div className="refusal-text">
            <strong>This part of the window failed: {error.message}</strong>
            <span>The sessions are not touched by it. Draw it again, or reload the window.</span>
          </div>
          <button type="button" className="btn" onClick={() => this.setState({ error: null })}>
            Draw it again
          </button>
        </div>
      </div>
    )
  }
}
