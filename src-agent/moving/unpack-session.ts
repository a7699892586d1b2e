import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Probe, ProbeFinding } from '../../src-shared/agent-wire.ts'
import { type KeptFile, KeptFileKind } from '../../src-shared/parking.ts'
import { BalletError } from '../../src-shared/refusal.ts'
import { extractInto } from '../parking/archive.ts'
import { keyOf } from '../parking/kept-work.ts'
import { openSealed, sealFile } from '../parking/sealed-file.ts'
import { withRefusals } from '../workspace/failure.ts'
import { KEPT_FOLDER } from './pack-session.ts'
import { keyOfFile, PREFIX_BYTES } from './passphrase.ts'

type Plan = Omit<Extract<Probe, { kind: 'session.unpack' }>, 'kind'>
type Found = Extract<ProbeFinding, { kind: 'session.unpack' }>

/** Where the kept files are, sealed with this host's key. */
const SEALED_FOLDER = 'sealed'

/**
 * Takes an exported session apart into an empty folder. Rejects with `export.not-found`, `export.unknown`,
 * `export.newer`, `export.wrong-passphrase`, `export.corrupt`, and what the system says. The folder is Core's to
 * remove, whatever comes of it.
 */
export function unpackSession(plan: Plan, signal: AbortSignal): Promise<Found> {
  return withRefusals(`reading ${plan.file}`, () => unpack(plan, signal))
}

async function unpack(
  { file, passphrase, folder, ...place }: Plan,
  signal: AbortSignal,
): Promise<Found> {
  const key = await keyOfFile(file, passphrase)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    await extractInto(openSealed(file, key, PREFIX_BYTES), folder)
  } catch (error) {
    throw inWordsOfExport(error, file)
  }
  const files = await sealAgain(folder, keyOf(place), signal)
  return { kind: 'session.unpack', files }
}

async function sealAgain(
  folder: string,
  key: Uint8Array,
  signal: AbortSignal,
): Promise<KeptFile[]> {
  const sealedDir = join(folder, SEALED_FOLDER)
  await mkdir(sealedDir, { mode: 0o700 })
  const files: KeptFile[] = []
  for (const name of await readdir(join(folder, KEPT_FOLDER)).catch(() => [])) {
    const kind = KeptFileKind.safeParse(name)
    // A newer Ballet would have said so in the version of the file.
    if (!kind.success) continue
    const plain = join(folder, KEPT_FOLDER, name)
    const made = await sealFile(plain, join(sealedDir, name), key, signal)
    const { bytes, sha256, content } = made
    const sealedName = `${name}-${sha256.slice(0, 16)}.sealed`
    await rename(made.file, join(sealedDir, sealedName))
    await rm(plain)
    files.push({ kind: kind.data, name: sealedName, bytes, sha256, contentSha256: content.sha256 })
  }
  return files
}

function inWordsOfExport(error: unknown, file: string): unknown {
  if (!(error instanceof BalletError)) return error
  if (error.code === 'state.wrong-key') {
    return new BalletError(
      {
        code: 'export.wrong-passphrase',
        message: `The passphrase does not open ${file}.`,
        hint: 'Give the one that the session was exported with.',
      },
      { cause: error },
    )
  }
  if (error.code !== 'state.corrupt') return error
  return new BalletError(
    {
      code: 'export.corrupt',
      message: `${file} is not what was exported: ${error.message}`,
      hint: 'Copy it again from where it was written. The original session is there as `moved`, with all that was kept of it.',
    },
    { cause: error },
  )
}
