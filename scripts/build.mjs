import { join } from 'node:path'
import { ensureBuild } from './ground/build.mjs'
import { describeError } from './ground/errors.mjs'
import { takeLock } from './ground/lock.mjs'
import { placesOf, sweep } from './ground/places.mjs'
import { createReport } from './ground/progress.mjs'
import { endChildrenOnSignals, endGroup } from './ground/run.mjs'

endChildrenOnSignals()
const places = placesOf()
const report = createReport({ verbose: true })
try {
  const lock = await takeLock(join(places.state, 'lock'), { endChild: endGroup })
  try {
    await sweep(places.scratch)
    await report.step('Build', (step) => ensureBuild(places, step, lock, { force: true }))
  } finally {
    lock.release()
  }
} catch (error) {
  report.line(describeError(error))
  process.exitCode = 1
}
