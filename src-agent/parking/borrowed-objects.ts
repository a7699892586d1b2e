import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git, GitOptions } from '../git/run.ts'
import { updateRefs } from './local-refs.ts'
import { LONG_LIMIT_MS } from './survey.ts'

/** Where git writes what an operation that is under way works with, beside HEAD and the refs. */
const UNDER_WAY = [
  ...['MERGE_HEAD', 'CHERRY_PICK_HEAD', 'REVERT_HEAD', 'REBASE_HEAD', 'ORIG_HEAD'],
  ...['rebase-merge/onto', 'rebase-merge/orig-head', 'rebase-apply/abort-safety'],
]

/**
 * Runs `work` while a clone that borrows objects holds, in a pack of its own, everything that its work, index and
 * operations need, but for what `without` commits have. Where git cannot make the pack there is none.
 */
export async function withBorrowed<T>(
  git: Git,
  { cwd, without, signal }: { cwd: string; without: readonly string[]; signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const options: GitOptions = { cwd, signal, limitMs: LONG_LIMIT_MS }
  const refs = await git.text(['for-each-ref', '--format=%(objectname) %(refname)'], options)
  const own = refs.split('\n').filter((line) => !line.includes(' refs/remotes/'))
  const tips = [...own.map((line) => line.split(' ')[0] ?? ''), ...(await heads(git, options))]
  const lines = [...tips.filter(Boolean), ...without.map((commit) => `^${commit}`), '']
  const place = join(cwd, '.git', 'objects', 'pack', 'ballet')
  const args = ['pack-objects', '--quiet', '--revs', '--indexed-objects', '--non-empty', place]
  const made = await git.run(args, { ...options, input: lines.join('\n') })
  try {
    return await work()
  } finally {
    // Only the archive needs it: here are all of its objects already.
    for (const name of made.stdout.toString('utf8').split('\n').filter(Boolean)) {
      for (const end of ['idx', 'pack', 'rev']) await rm(`${place}-${name}.${end}`, { force: true })
    }
  }
}

async function heads(git: Git, options: GitOptions): Promise<string[]> {
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD'], options)
  const found = [head.stdout.toString('utf8').trim()]
  for (const file of UNDER_WAY) {
    const text = await readFile(join(options.cwd, '.git', file), 'utf8').catch(() => '')
    const ids = text.split('\n').filter((line) => /^[0-9a-f]{40,64}$/.test(line))
    if (ids.length === 0) continue
    const answer = await git.text(['cat-file', '--batch-check'], {
      ...options,
      input: ids.join('\n'),
    })
    found.push(
      ...answer
        .split('\n')
        .flatMap((line) => (/ missing$/.test(line) ? [] : [line.split(' ')[0] ?? ''])),
    )
  }
  return found
}

/** Forgets what a clone knew of branches of the remote whose commits are nowhere any more. */
export async function forgetGone(git: Git, cwd: string): Promise<void> {
  const format = '--format=%(objectname) %(refname) %(symref)'
  const refs = (await git.text(['for-each-ref', format, 'refs/remotes'], { cwd }))
    .split('\n')
    .flatMap((line) => {
      const [id = '', name = '', target = ''] = line.split(' ')
      return name === '' || target !== '' ? [] : [{ id, name }]
    })
  if (refs.length === 0) return
  const input = refs.map(({ id }) => id).join('\n')
  const answers = (await git.text(['cat-file', '--batch-check'], { cwd, input })).split('\n')
  const gone = refs.filter((_, number) => answers[number]?.endsWith(' missing') === true)
  await updateRefs(
    git,
    cwd,
    gone.map(({ name }) => `delete ${name}`),
  )
}
