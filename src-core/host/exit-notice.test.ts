import { expect, it } from 'vitest'
import { createExitNotice, type Exit } from './exit-notice.ts'

it('tells of the end once, also who listens later', async () => {
  const notice = createExitNotice()
  const heard: [string, Exit][] = []
  notice.onExit((exit) => heard.push(['early', exit]))
  const exit = { code: 1, reason: 'it exited with 1' }
  notice.tell(exit)
  notice.tell({ code: null, reason: 'again' })
  notice.onExit((late) => heard.push(['late', late]))
  expect(heard).toEqual([['early', exit]])
  await Promise.resolve()
  expect(heard).toEqual([
    ['early', exit],
    ['late', exit],
  ])
})
