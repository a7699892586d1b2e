import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { written } from './written.ts'

it('waits for a reader that is slow, so that an end of the process cuts nothing off', async () => {
  const pipe = new PassThrough({ highWaterMark: 10 })
  pipe.write('x'.repeat(100))
  pipe.write('the end')
  let isWritten = false
  const waiting = written(pipe).then(() => {
    isWritten = true
  })
  await sleep(20)
  expect(isWritten).toBe(false)
  let read = ''
  pipe.setEncoding('utf8').on('data', (text: string) => {
    read += text
  })
  await waiting
  expect(read).toMatch(/x+the end$/)
})

it('does not wait where nothing is left, or nobody reads any more', async () => {
  const pipe = new PassThrough()
  await written(pipe)
  pipe.write('x'.repeat(100_000))
  pipe.destroy()
  await written(pipe)
})
