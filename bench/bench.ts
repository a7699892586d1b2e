import type { Workbench } from '../e2e/support/workbench.ts'
import type { Figure } from './figures.ts'

export type BenchOptions = {
  /** Just to see that it works: so few measurements that the figures mean nothing. */
  readonly brief: boolean
  readonly say: (text: string) => void
}

export type Bench = {
  /** For `--only`. */
  readonly name: string
  /** How it is measured, as a paragraph of Markdown for docs/performance.md. */
  readonly method: string
  run(workbench: Workbench, options: BenchOptions): Promise<readonly Figure[]>
}
