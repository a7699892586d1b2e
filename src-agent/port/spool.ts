import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type ItemBatch, SPOOL_FOLDER } from '../../src-shared/agent-wire.ts'

/**
 * Leaves a batch where the next host finds it. Synchronous, so that it also works while the process ends; it is
 * there whole or not at all.
 */
export function writeSpool(dataDir: string, batch: ItemBatch): void {
  const folder = join(dataDir, SPOOL_FOLDER)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${batch.lease}.json`)
  const draft = `${file}.new`
  const descriptor = openSync(draft, 'w', 0o600)
  try {
    const data = Buffer.from(JSON.stringify(batch))
    for (let written = 0; written < data.length; ) {
      written += writeSync(descriptor, data, written)
    }
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(draft, file)
}
