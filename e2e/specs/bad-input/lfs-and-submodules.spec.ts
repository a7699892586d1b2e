import { execFile } from 'node:child_process'
import { appendFile, chmod, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import type { GitRemote } from '../../support/git-remote.ts'
import {
  expectSameWork,
  isThere,
  noticesIn,
  parkNow,
  SHOP_FILES,
  startWithWork,
} from '../../support/parked-work.ts'
import { addProject, ofKind, timelineOf } from '../../support/watch.ts'
import { test, type Workbench } from '../../support/workbench.ts'

const run = promisify(execFile)
const ATTRIBUTES = { '.gitattributes': '*.big filter=lfs diff=lfs merge=lfs -text\n' }
const POINTER = `version https://git-lfs.github.com/spec/v1
oid sha256:${'1'.repeat(64)}
size 12345
`

/** As far as it matters here: pointers in git, contents beside it, and a program that says what it was asked to send. */
const FAKE_LFS = `#!/bin/sh
dir="$(git rev-parse --git-dir)/lfs/objects"
case "$1" in
  clean)
    mkdir -p "$dir"; file=$(mktemp "$dir/new-XXXXXX"); cat > "$file"
    oid=$(sha256sum < "$file" | cut -c1-64); size=$(wc -c < "$file"); mv "$file" "$dir/$oid"
    printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$oid" "$size" ;;
  smudge)
    pointer=$(cat); oid=$(echo "$pointer" | sed -n 's/^oid sha256://p')
    if [ -e "$dir/$oid" ]; then cat "$dir/$oid"; else echo "$pointer"; fi ;;
  push) echo "$@" >> "$HOME/lfs-pushed" ;;
esac
`

/** Makes the program and gives the command that has git of one clone use it, as `git lfs install --local` does. */
async function fakeLfs(bench: Workbench): Promise<string> {
  const program = bench.path('git-lfs')
  await writeFile(program, FAKE_LFS)
  await chmod(program, 0o755)
  await symlink(program, join(bench.folder, 'bin', 'git-lfs'))
  const settings = [`clean "${program} clean"`, `smudge "${program} smudge"`, 'required true']
  return settings.map((setting) => `git config filter.lfs.${setting}`).join(' && ')
}

/** What is kept of a parked session beside its branch. */
async function keptKinds({ dataDir }: Workbench, id: string): Promise<(string | undefined)[]> {
  return (await readdir(join(dataDir, 'kept', id))).map((name) => name.split('-')[0])
}

async function startShop(bench: Workbench, remote: GitRemote, more: { setup?: string } = {}) {
  const { client } = await bench.host()
  await addProject(client, remote.path, { planner: false, window: 'never', ...more })
  return client
}

test('Git LFS where nothing is installed for it: pointers and new files stay byte for byte', async ({
  bench,
}) => {
  const remote = await bench.remote({
    files: { ...SHOP_FILES, ...ATTRIBUTES, 'old.big': POINTER },
  })
  const client = await startShop(bench, remote)
  const before = await startWithWork(
    client,
    'printf "\\0\\1\\r\\n" > new.big && git add new.big && echo more >> old.big',
  )
  const { id } = before.session
  expect(noticesIn(await timelineOf(client, id))).toContain('workspace.lfs')
  expect((await parkNow(client, id)).parked).toMatchObject({ pushed: true })
  await expectSameWork(bench, client, before)
})

test('Git LFS with its filter: what is stored beside git parks with the whole workspace, and comes back', async ({
  bench,
}) => {
  const remote = await bench.remote({
    files: { ...SHOP_FILES, ...ATTRIBUTES, 'old.big': POINTER },
  })
  const client = await startShop(bench, remote, { setup: await fakeLfs(bench) })
  const before = await startWithWork(
    client,
    [
      'seq 1000 > new.big && git add new.big && git commit -q -m "A large one"',
      'seq 2000 > staged.big && git add staged.big && echo changed >> staged.big',
      'seq 3000 > untracked.big',
    ].join(' && '),
  )
  const { id, workspace } = before.session
  const stored = join(String(workspace), '.git', 'lfs', 'objects')
  const objects = (await readdir(stored)).sort()
  expect(objects.length).toBeGreaterThanOrEqual(2)
  await parkNow(client, id)
  expect(await keptKinds(bench, id)).toContain('archive')
  const told = ofKind(await timelineOf(client, id), 'park.step').map(({ detail = '' }) => detail)
  expect(told.join('\n')).toContain('The whole workspace is kept')
  await expectSameWork(bench, client, before)
  const after = await client.sessions.show({ ref: id })
  const again = join(String(after.workspace), '.git', 'lfs', 'objects')
  expect((await readdir(again)).sort()).toEqual(expect.arrayContaining(objects))
})

test('submodules come back filled, with the work in them', async ({ bench }) => {
  const inner = await bench.remote({ name: 'inner.git', files: { 'inner.txt': 'inner\n' } })
  const remote = await bench.remote({ files: SHOP_FILES })
  await appendFile(join(bench.home, '.gitconfig'), '[protocol "file"]\n\tallow = always\n')
  await addSubmodule(bench, remote, inner)
  const client = await startShop(bench, remote)
  const fill = 'git submodule --quiet update --init'
  const clean = await startWithWork(client, fill)
  expect(noticesIn(await timelineOf(client, clean.session.id))).toContain('workspace.submodules')
  await parkNow(client, clean.session.id)
  expect(await keptKinds(bench, clean.session.id)).toContain('archive')
  await expectSameWork(bench, client, clean)
  await client.sessions.stop({ ref: clean.session.id })

  const changed = await startWithWork(
    client,
    [
      fill,
      'cd vendor/inner && git checkout -q -b mine && echo mine > mine.txt && git add mine.txt',
      'git commit -q -m Mine && echo staged > staged.txt && git add staged.txt && echo x > new.txt',
      'cd ../.. && git add vendor/inner',
      `git submodule --quiet add '${inner.path}' vendor/second`,
    ].join(' && '),
  )
  await parkNow(client, changed.session.id)
  expect(await keptKinds(bench, changed.session.id)).toContain('archive')
  await expectSameWork(bench, client, changed)
  const { workspace } = await client.sessions.show({ ref: changed.session.id })
  const place = join(String(workspace), 'vendor', 'inner')
  const { stdout } = await run('git', ['log', '-1', '--format=%s', 'mine'], { cwd: place })
  expect(stdout).toBe('Mine\n')
  expect(await isThere(join(place, 'new.txt'))).toBe(true)
})

/** In the folder `vendor/inner`, as the person of the workbench would do it. */
async function addSubmodule(bench: Workbench, remote: GitRemote, inner: GitRemote): Promise<void> {
  const work = bench.path('with-submodule')
  const git = (cwd: string, ...args: string[]) => run('git', args, { cwd, env: { ...bench.env } })
  await git(bench.folder, 'clone', '--quiet', remote.path, work)
  await git(work, 'submodule', '--quiet', 'add', inner.path, 'vendor/inner')
  await git(work, 'commit', '--quiet', '--message=With a submodule')
  await git(work, 'push', '--quiet', 'origin', 'main')
}
