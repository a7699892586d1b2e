import type { TodoItem } from '../../../src-shared/timeline.ts'
import { PlanNews } from './protocol.ts'

const STATES: Readonly<Record<string, TodoItem['status']>> = {
  inProgress: 'active',
  completed: 'done',
}

/** The list of what is to do; null when it cannot be read. */
export function readPlan(params: unknown, mask: (text: string) => string): TodoItem[] | null {
  const plan = PlanNews.safeParse(params).data?.plan
  return (
    plan?.map(({ step, status }) => ({
      text: mask(step),
      status: STATES[status] ?? ('pending' as const),
    })) ?? null
  )
}
