import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BalletError } from '../../src-shared/refusal.ts'
import type { StateFile } from '../runtimes/driver.ts'
import { extractInto, packEntries } from './archive.ts'
import { safeParts } from './path-bytes.ts'
import { openSealed, type SealedFile, sealStream } from './sealed-file.ts'

const VERSION = 1
const MANIFEST = 'manifest.json'
const FILES = 'files'

/** What an archive of a session's state says of itself. */
const StateManifest = z.object({
  version: z.literal(VERSION),
  runtime: z.string(),
  /** Of the runtime that wrote the files. */
  runtimeVersion: z.string(),
  /** The runtime's own id. */
  conversation: z.string(),
  files: z.array(z.object({ name: z.string(), bytes: z.number(), sha256: z.string() })),
})
export type StateManifest = z.infer<typeof StateManifest>

export type StateArchive = {
  manifest: StateManifest
  /** Its `content.sha256` is the same for the same files: such a state need not be stored twice. */
  sealed: SealedFile
}

/**
 * Seals the files in which a runtime keeps a conversation, and reads them back. `scratch` is a folder of this archive
 * alone, which is empty again afterwards. The runtime must have ended. Rejects with `state.changing` when a file is
 * still written to.
 */
export async function packState(
  files: readonly StateFile[],
  facts: Pick<StateManifest, 'runtime' | 'runtimeVersion' | 'conversation'>,
  target: { file: string; scratch: string; key: Uint8Array },
  signal: AbortSignal,
): Promise<StateArchive> {
  const sorted = [...files].sort((a, b) => (a.name < b.name ? -1 : 1))
  const listed: StateManifest['files'] = []
  for (const { path, name } of sorted) listed.push({ name, ...(await measure(path)) })
  const manifest: StateManifest = { version: VERSION, ...pick(facts), files: listed }
  await mkdir(target.scratch, { recursive: true, mode: 0o700 })
  const manifestFile = join(target.scratch, MANIFEST)
  await writeFile(manifestFile, JSON.stringify(manifest), { mode: 0o600 })
  const entries = [
    { path: MANIFEST, source: manifestFile },
    ...sorted.map(({ path, name }) => ({ path: inArchive(name), source: path })),
  ]
  try {
    const sealed = await sealStream(packEntries(entries), target.file, target.key, signal)
    await unpackState(target.file, target.key, join(target.scratch, 'read-back'))
    return { manifest, sealed }
  } catch (error) {
    if (!(error instanceof BalletError && error.code === 'state.corrupt')) throw error
    await rm(target.file, { force: true })
    throw new BalletError(
      {
        code: 'state.changing',
        message: `The state of the conversation ${facts.conversation} changed while it was being stored.`,
        hint: 'A runtime still runs on it. End it, then park again. The session and its workspace are kept.',
      },
      { cause: error },
    )
  } finally {
    await rm(target.scratch, { recursive: true, force: true })
  }
}

function pick({ runtime, runtimeVersion, conversation }: Parameters<typeof packState>[1]) {
  return { runtime, runtimeVersion, conversation }
}

/**
 * Takes the files of a sealed state into a folder, which is made, and checks each against the manifest. Their paths
 * are in the folder. Rejects with `state.missing`, `state.wrong-key`, `state.corrupt`, `state.version`; then nothing
 * of the folder is left.
 */
export async function unpackState(
  file: string,
  key: Uint8Array,
  folder: string,
): Promise<{ manifest: StateManifest; files: StateFile[] }> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const written = await extractInto(openSealed(file, key), folder)
    const manifest = await readManifest(file, folder)
    const expected = new Set([MANIFEST, ...manifest.files.map(({ name }) => inArchive(name))])
    if (written.length !== expected.size || !written.every((path) => expected.has(path))) {
      throw corrupt(file, 'it holds other files than its manifest names')
    }
    const files = manifest.files.map(({ name }) => ({ name, path: join(folder, FILES, name) }))
    await verifyFiles(files, manifest)
    return { manifest, files }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Checks that files are on the disk as the manifest has them. Rejects with `state.corrupt`. */
export async function verifyFiles(
  files: readonly StateFile[],
  manifest: StateManifest,
): Promise<void> {
  for (const { name, bytes, sha256 } of manifest.files) {
    const path = files.find((each) => each.name === name)?.path
    const found = path === undefined ? null : await measure(path).catch(() => null)
    if (found?.bytes !== bytes || found.sha256 !== sha256) {
      throw corrupt(path ?? name, 'its size or checksum is another one')
    }
  }
}

async function readManifest(file: string, folder: string): Promise<StateManifest> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => null)
  if (text === null) throw corrupt(file, 'it has no manifest')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw corrupt(file, 'its manifest is no JSON')
  }
  const version = z.looseObject({ version: z.unknown() }).safeParse(value).data?.version
  if (version !== VERSION) {
    throw new BalletError({
      code: 'state.version',
      message: `The state in ${file} has version ${String(version)}; this Ballet knows ${VERSION}.`,
      hint: 'A newer Ballet made it. Update Ballet on this machine, then resume again.',
    })
  }
  const manifest = StateManifest.safeParse(value)
  if (!manifest.success) throw corrupt(file, 'its manifest is not as expected')
  return manifest.data
}

/** Size and checksum of a file as far as it goes now. */
async function measure(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256')
  const { size } = await stat(path)
  if (size > 0) {
    for await (const chunk of createReadStream(path, { end: size - 1 }))
      hash.update(chunk as Buffer)
  }
  return { bytes: size, sha256: hash.digest('hex') }
}

function inArchive(name: string): string {
  const path = `${FILES}/${Buffer.from(name, 'utf8').toString('latin1')}`
  if (safeParts(path) === null) throw new RangeError(`not a name in an archive: ${name}`)
  return path
}

function corrupt(file: string, why: string): BalletError {
  return new BalletError({
    code: 'state.corrupt',
    message: `${file} is not what was stored: ${why}.`,
    hint: 'Restore it from a backup, or resume without it: the session begins a new conversation.',
  })
}
