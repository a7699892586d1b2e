import { join } from 'node:path'
import { checkBundles } from './checks/check-bundles.mjs'
import { NODE_PROGRAMS } from './ground/entries.mjs'
import { ROOT } from './ground/places.mjs'

const programs = Object.keys(NODE_PROGRAMS).map((name) => `${name}.js`)
const { chunks, problems } = await checkBundles(join(ROOT, 'out', 'node'), programs)
for (const problem of problems) console.error(problem)
console.log(`${programs.length} programs in ${chunks} files, ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0
