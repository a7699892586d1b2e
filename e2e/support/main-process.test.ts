import type { ElectronApplication } from '@playwright/test'
import { expect, it } from 'vitest'
import { doInMain, readInMain } from './main-process.ts'

/** An application whose main process answers in this way, one time after the other. */
function answering(...answers: (string | Error)[]) {
  const app = {
    asked: 0,
    evaluate: async () => {
      const answer = answers[app.asked]
      app.asked += 1
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return app as typeof app & Pick<ElectronApplication, 'evaluate'>
}

const LOST = new Error('electronApplication.evaluate: Resulting promise was garbage collected.')

it('asks again when the answer of a reading call was lost, and only then', async () => {
  const app = answering(LOST, LOST, 'yes')
  expect(await readInMain(app, () => 'yes')).toBe('yes')
  expect(app.asked).toBe(3)
  const gone = answering(new Error('Target closed'))
  await expect(readInMain(gone, () => 'yes')).rejects.toThrow('Target closed')
  expect(gone.asked).toBe(1)
  await expect(readInMain(answering(...Array(9).fill(LOST)), () => 'yes')).rejects.toThrow(
    'garbage',
  )
})

it('does not do a second time what has been done', async () => {
  const app = answering(LOST)
  await doInMain(app, () => undefined)
  expect(app.asked).toBe(1)
  await expect(doInMain(answering(new Error('no window')), () => undefined)).rejects.toThrow(
    'no window',
  )
})
