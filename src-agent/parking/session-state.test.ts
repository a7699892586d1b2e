import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newMarker } from '../process-tree/testing/new-marker.ts'
import { createClaudeCodeDriver } from '../runtimes/claude-code/index.ts'
import { slugOf } from '../runtimes/claude-code/transcript.ts'
import { captureSessionState, restoreSessionState } from './session-state.ts'
import { packState, unpackState } from './state-archive.ts'

const driver = createClaudeCodeDriver()
const key = Buffer.alloc(32, 3)
const never = new AbortController().signal
const CONVERSATION = '7f3b0f0e-8d2f-4a5e-9f65-0d0c7f6c1a2b'
const refusedWith = (code: string) => expect.objectContaining({ code })

let root: string
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'ballet-state-')))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const planIn = async (machine: string) => {
  const cwd = join(root, machine, 'work.space')
  await mkdir(cwd, { recursive: true })
  const env = { CLAUDE_CONFIG_DIR: join(root, machine, 'config') }
  return {
    ...{ conversation: CONVERSATION, key },
    place: {
      ...{ cwd, env, executable: null, marker: newMarker() },
      scratchDir: join(root, machine, 'driver'),
    },
    ...{ file: join(root, 'state.sealed'), scratch: join(root, machine, 'scratch') },
  }
}
const projectOf = ({ place }: Awaited<ReturnType<typeof planIn>>) =>
  join(place.env.CLAUDE_CONFIG_DIR, 'projects', slugOf(place.cwd))

async function put(files: Record<string, string>) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
}

async function filesBelow(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of names) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) found[path.slice(folder.length + 1)] = await readFile(path, 'utf8')
  }
  return found
}

const OWN = {
  [`${CONVERSATION}.jsonl`]: '{"type":"user"}\n{"type":"assistant"}\n',
  [`${CONVERSATION}/subagents/agent-1.jsonl`]: '{"sub":1}\n',
  [`${CONVERSATION}/tool-results/long ü.txt`]: 'long output\n',
}

/** A configuration folder with a login, other conversations, and this one. */
async function machineWithState() {
  const plan = await planIn('one')
  const project = projectOf(plan)
  const config = plan.place.env.CLAUDE_CONFIG_DIR
  await put({
    ...Object.fromEntries(Object.entries(OWN).map(([name, text]) => [join(project, name), text])),
    [join(project, 'another.jsonl')]: 'another conversation',
    [join(project, 'memory', 'notes.md')]: 'memory',
    [join(project, CONVERSATION, 'other', 'x')]: 'not known',
    [join(config, '.credentials.json')]: 'SECRET LOGIN',
    [join(config, 'history.jsonl')]: 'history',
    [join(config, 'file-history', CONVERSATION, 'x')]: 'a copy',
    [join(config, 'file-history', 'another', 'y')]: 'a copy of another',
  })
  await symlink('/etc/hostname', join(project, CONVERSATION, 'tool-results', 'link.txt'))
  return { plan, project, config }
}

describe('the state of a session', () => {
  it('is moved to another machine and folder: its own files, and nothing else', async () => {
    const { plan } = await machineWithState()
    const { manifest, sealed } = await captureSessionState(driver, '2.1.332', plan, never)
    expect(manifest).toMatchObject({
      ...{ version: 1, runtime: 'claude-code', runtimeVersion: '2.1.332' },
      conversation: CONVERSATION,
    })
    expect(manifest.files.map(({ name }) => name).sort()).toEqual(Object.keys(OWN).sort())
    expect(manifest.files[0]).toMatchObject({
      bytes: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(sealed.file).toBe(plan.file)
    expect((await readFile(plan.file)).includes('assistant')).toBe(false)

    const other = await planIn('two')
    expect(await restoreSessionState(driver, other)).toEqual(manifest)
    expect(await filesBelow(other.place.env.CLAUDE_CONFIG_DIR)).toEqual(
      Object.fromEntries(
        Object.entries(OWN).map(([name, text]) => [
          join('projects', slugOf(other.place.cwd), name),
          text,
        ]),
      ),
    )
    expect(await readdir(join(root, 'two'))).toEqual(['config', 'work.space'])
    // Once more, over what is there, also when a killed attempt left a part of a file.
    const project = projectOf(other)
    await appendFile(join(project, `${CONVERSATION}.jsonl`), '{"type":"user","uuid":"later"}\n')
    await writeFile(join(project, `${CONVERSATION}.jsonl.ballet-part`), 'half')
    await restoreSessionState(driver, other)
    expect(await filesBelow(project)).toEqual(OWN)
  })

  it('that did not change is the same content', async () => {
    const { plan, project } = await machineWithState()
    const first = await captureSessionState(driver, '2.1.332', plan, never)
    const again = { ...plan, file: join(root, 'again.sealed') }
    const second = await captureSessionState(driver, '2.1.332', again, never)
    expect(second.sealed.content).toEqual(first.sealed.content)
    await appendFile(join(project, `${CONVERSATION}.jsonl`), '{"type":"user"}\n')
    const third = await captureSessionState(driver, '2.1.332', again, never)
    expect(third.sealed.content.sha256).not.toBe(first.sealed.content.sha256)
  })

  it('is removed alone', async () => {
    const { plan, config } = await machineWithState()
    expect(await driver.state?.remove(CONVERSATION, plan.place)).toBe(5)
    expect(await driver.state?.remove(CONVERSATION, plan.place)).toBe(0)
    const left = Object.keys(await filesBelow(config)).map((path) => path.split('/').at(-1))
    expect(left.sort()).toEqual([
      '.credentials.json',
      'another.jsonl',
      'history.jsonl',
      'notes.md',
      'y',
    ])
  })

  it('that is missing, of another conversation, or of another key is said', async () => {
    const nothing = await planIn('one')
    const capture = () => captureSessionState(driver, '1', nothing, never)
    await expect(capture()).rejects.toEqual(refusedWith('state.missing'))
    await expect(restoreSessionState(driver, nothing)).rejects.toEqual(refusedWith('state.missing'))
    const { plan } = await machineWithState()
    await captureSessionState(driver, '1', plan, never)
    const other = await planIn('two')
    const wrongKey = restoreSessionState(driver, { ...other, key: Buffer.alloc(32, 4) })
    await expect(wrongKey).rejects.toEqual(refusedWith('state.wrong-key'))
    const foreign = restoreSessionState(driver, { ...other, conversation: 'another-one' })
    await expect(foreign).rejects.toEqual(refusedWith('state.corrupt'))
    const bytes = await readFile(plan.file)
    await writeFile(plan.file, bytes.subarray(0, bytes.length - 1))
    await expect(restoreSessionState(driver, other)).rejects.toEqual(refusedWith('state.corrupt'))
    expect(await readdir(join(root, 'two'))).toEqual(['work.space'])
    const { state: _, ...without } = driver
    const unmovable = captureSessionState(without, '1', plan, never)
    await expect(unmovable).rejects.toEqual(refusedWith('state.not-movable'))
  })

  it('that a runtime still writes to is not stored', async () => {
    const { plan, project } = await machineWithState()
    const transcript = join(project, `${CONVERSATION}.jsonl`)
    const files = [{ path: transcript, name: `${CONVERSATION}.jsonl` }]
    // The file changes as soon as it was measured.
    const growing = new Proxy(files[0] ?? { path: '', name: '' }, {
      get: (file, name) => {
        if (name === 'name') void appendFile(transcript, 'more\n'.repeat(10))
        return Reflect.get(file, name)
      },
    })
    const facts = { runtime: 'claude-code', runtimeVersion: '1', conversation: CONVERSATION }
    const packing = packState([growing], facts, plan, never)
    await expect(packing).rejects.toEqual(refusedWith('state.changing'))
    await expect(readFile(plan.file)).rejects.toThrow()
  })

  it('of a newer Ballet is refused', async () => {
    const { plan } = await machineWithState()
    const { sealStream } = await import('./sealed-file.ts')
    const { packEntries } = await import('./archive.ts')
    await writeFile(join(root, 'manifest'), JSON.stringify({ version: 2 }))
    const entries = [{ path: 'manifest.json', source: join(root, 'manifest') }]
    await sealStream(packEntries(entries), plan.file, key)
    const reading = unpackState(plan.file, key, join(root, 'out'))
    await expect(reading).rejects.toEqual(refusedWith('state.version'))
    expect(await readdir(root)).not.toContain('out')
  })
})
