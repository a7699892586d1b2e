import { checkRooms } from './checks/check-rooms.mjs'
import { ROOT } from './ground/places.mjs'

const { files, problems } = await checkRooms(ROOT)
for (const problem of problems) console.error(problem)
console.log(`${files} files in their rooms, ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0
