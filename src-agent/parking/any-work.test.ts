import { execFile } from 'node:child_process'
import { chmod, lstat, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterEach, expect, it, vi } from 'vitest'
import { removeWorkspace } from '../workspace/folders.ts'
import { absolutePath, type PathBytes } from './path-bytes.ts'
import { makeParkingScene, type ParkingScene } from './testing/parking-scene.ts'

// BALLET_ROUNDS and BALLET_SEED choose how many and which; a failure names its seed.
const ROUNDS = Number(process.env.BALLET_ROUNDS ?? 3)
const SEED = Number(process.env.BALLET_SEED ?? 1)

const run = promisify(execFile)

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

/** The same numbers for the same seed. */
function randomFrom(seed: number) {
  let state = seed * 2_654_435_761
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    below: (limit: number) => Math.floor(next() * limit),
    of: <T>(all: readonly T[]): T => {
      const one = all[Math.floor(next() * all.length)]
      if (one === undefined) throw new Error('nothing to choose from')
      return one
    },
  }
}

const NAMES: readonly PathBytes[] = [
  ...['a', 'b.txt', 'd', 'd/x', 'd/y', 'd/e/z', 'd/e', 'run.sh', 'link', '.env', 'k.pem', 'e.log'],
  ...['new line\n', 'tab\t', '"quoted"', 'no-utf8-\xff', '-dash', ':(glob)*', 'back\\slash', ' '],
]

/** Makes git look: what it remembers of a file may be older than the attributes by which it judges it. */
async function touchAll(folder: string) {
  const find = ['.', '-path', './.git', '-prune', '-o', '-type', 'f']
  await run('find', [...find, '-exec', 'touch', '-d', '@1', '{}', '+'], { cwd: folder })
}

let scene: ParkingScene | undefined
afterEach(() => scene?.sample.remove())

it.each(Array.from({ length: ROUNDS }, (_, round) => SEED + round))(
  'any work comes back as it was: seed %i',
  async (seed) => {
    const random = randomFrom(seed)
    scene = await makeParkingScene({
      ...{ a: 'a\n', 'b.txt': 'b\n', 'd/x': 'x\n', 'd/y': '', 'run.sh': '#!\n', link: '-> a' },
      '.gitignore': '*.log\n',
      ...(random.below(2) === 0 ? {} : { '.gitattributes': '*.txt text eol=crlf\n* text=auto\n' }),
    })
    const { sample, work } = scene
    const told: string[] = []
    const git = async (...args: string[]) => {
      told.push(args.join(' '))
      // What git does not want is no step.
      await scene?.sh(...args).catch(() => undefined)
    }
    const clear = async (path: PathBytes) => {
      await rm(absolutePath(work, path), { recursive: true, force: true }).catch(() => undefined)
      for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
        const parent = absolutePath(work, path.slice(0, at))
        const info = await lstat(parent).catch(() => null)
        if (info !== null && !info.isDirectory()) await rm(parent)
        await mkdir(parent, { recursive: true })
      }
    }
    const text = () =>
      random.of(['', 'one\n', 'two\r\n', 'three\r\nmixed\n', `${random.below(99)}\n`])
    const steps: readonly ((path: PathBytes) => Promise<unknown>)[] = [
      (path) => clear(path).then(() => writeFile(absolutePath(work, path), text())),
      (path) => clear(path).then(() => writeFile(absolutePath(work, path), text())),
      (path) =>
        clear(path).then(() => writeFile(absolutePath(work, path), text(), { mode: 0o755 })),
      (path) => clear(path).then(() => symlink('../d', absolutePath(work, path))),
      (path) => clear(path).then(() => mkdir(absolutePath(work, path))),
      (path) => rm(absolutePath(work, path), { recursive: true }).catch(() => undefined),
      (path) => chmod(absolutePath(work, path), random.of([0o644, 0o755])).catch(() => undefined),
      (path) => git('--literal-pathspecs', 'add', '--all', '--', path),
      (path) => git('--literal-pathspecs', 'add', '--intent-to-add', '--', path),
      (path) => git('--literal-pathspecs', 'rm', '-r', '--quiet', '--cached', '--', path),
      (path) => git('update-index', '--assume-unchanged', '--', path),
      (path) => git('update-index', '--skip-worktree', '--', path),
      (path) => git('mv', '--', path, random.of(NAMES)),
      () => git('add', '--all'),
      () => git('commit', '--quiet', '-m', 'Step'),
      () =>
        git(
          'stash',
          'push',
          '--quiet',
          ...random.of([[], ['--include-untracked'], ['--keep-index']]),
        ),
      () => git('checkout', '--quiet', '-b', `side-${random.below(99)}`),
      () => git('checkout', '--quiet', '--detach'),
      () => git('checkout', '--quiet', sample.plan().branch),
      () => git('tag', `tag-${random.below(99)}`),
      () => git('reset', '--quiet', random.of(['--soft', '--mixed']), 'HEAD~1'),
    ]
    for (let count = 5 + random.below(40); count > 0; count -= 1) {
      const number = random.below(steps.length)
      const path = random.of(NAMES)
      told.push(`${number} ${JSON.stringify(path)}`)
      await steps[number]?.(path)
    }
    await touchAll(work)
    const before = await scene.seen()
    const parked = await scene.park({ keep: true })
    expect(await scene.seen(), told.join('\n')).toEqual(before)
    await removeWorkspace(sample.dataDir, work)
    const plan = await scene.elsewhere(parked)
    await scene.restore(plan, parked.work)
    const after = await scene.seen(plan.workspaceDir)
    expect(after, `${parked.snapshot.reasons.join()}\n${told.join('\n')}`).toEqual(before)
    expect(sample.told.filter(({ code }) => code === 'resume.bytes')).toEqual([])
  },
)
