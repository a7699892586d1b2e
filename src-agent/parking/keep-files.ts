import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptFile, KeptFileKind } from '../../src-shared/parking.ts'
import { isKept } from './kept-work.ts'
import { type SealedFile, syncFolder, verifySealed } from './sealed-file.ts'

const STAGING = '.part'

/**
 * Files on their way into a session's folder of kept files: made in a folder beside the others, and moved in when
 * they are whole. What is kept already is not kept twice; what is there is never written over.
 */
export class KeepFiles {
  readonly #keptDir: string
  readonly #key: Uint8Array
  readonly #earlier: readonly KeptFile[]
  readonly #files: KeptFile[] = []

  constructor(keptDir: string, key: Uint8Array, earlier: readonly KeptFile[]) {
    this.#keptDir = keptDir
    this.#key = key
    this.#earlier = earlier
  }

  /** Where to make them. */
  get staging(): string {
    return join(this.#keptDir, STAGING)
  }

  get files(): readonly KeptFile[] {
    return this.#files
  }

  /** Empty, whatever an attempt that was cut left there. */
  async begin(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true })
    await mkdir(this.staging, { recursive: true, mode: 0o700 })
  }

  async add(kind: KeptFileKind, sealed: SealedFile | null): Promise<void> {
    if (sealed === null) return
    const earlier = await this.#known(kind, sealed)
    if (earlier !== null) {
      await rm(sealed.file)
      this.#files.push(earlier)
      return
    }
    const { bytes, sha256, content } = sealed
    // Sealed again the same content is another file: no name ever stands for two.
    const name = `${kind}-${sha256.slice(0, 16)}.sealed`
    await rename(sealed.file, join(this.#keptDir, name))
    await syncFolder(this.#keptDir)
    this.#files.push({ kind, name, bytes, sha256, contentSha256: content.sha256 })
  }

  /** One of an earlier parking that nothing changed. */
  async reuse(file: KeptFile): Promise<boolean> {
    const isSame = await isKept(join(this.#keptDir, file.name), file).catch(() => false)
    if (isSame) this.#files.push(file)
    return isSame
  }

  async end(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true })
  }

  async #known(kind: KeptFileKind, { content }: SealedFile): Promise<KeptFile | null> {
    const file = this.#earlier.find(
      (each) => each.kind === kind && each.contentSha256 === content.sha256,
    )
    if (file === undefined) return null
    const path = join(this.#keptDir, file.name)
    const isGood = async () => {
      if (!(await isKept(path, file))) return false
      await verifySealed(path, this.#key, content)
      return true
    }
    return (await isGood().catch(() => false)) ? file : null
  }
}

/** Removes what a parking that was cut left, whole or not. No other may be under way. */
export async function removeCut(
  keptDir: string,
  files: readonly Pick<KeptFile, 'name'>[],
): Promise<void> {
  await rm(join(keptDir, STAGING), { recursive: true, force: true })
  await removeOtherFiles(keptDir, files)
}

/** Removes what no parking of the session needs any more. */
export async function removeOtherFiles(
  keptDir: string,
  files: readonly Pick<KeptFile, 'name'>[],
): Promise<void> {
  const names = new Set(files.map(({ name }) => name))
  for (const name of await readdir(keptDir)) {
    if (name.endsWith('.sealed') && !names.has(name)) await rm(join(keptDir, name), { force: true })
  }
}
