import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Workbench } from './workbench.ts'

/** The tables of a data folder in which a text stands, in any column of any row. */
export function tablesWith(dataDir: string, text: string): string[] {
  const db = new Sqlite(join(dataDir, 'ballet.sqlite'), { readonly: true })
  try {
    const tables = db
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
      .pluck()
      .all() as string[]
    return tables.filter((table) => {
      const columns = db.prepare(`SELECT name FROM pragma_table_info(?)`).pluck().all(table)
      const anyHolds = columns.map((name) => `instr(CAST("${name}" AS TEXT), @text) > 0`)
      const sql = `SELECT EXISTS (SELECT 1 FROM "${table}" WHERE ${anyHolds.join(' OR ')})`
      return db.prepare(sql).pluck().get({ text }) === 1
    })
  } finally {
    db.close()
  }
}

/** How many rows a table has. */
export function rowsIn(dataDir: string, table: 'timeline' | 'blob'): number {
  const db = new Sqlite(join(dataDir, 'ballet.sqlite'), { readonly: true })
  try {
    return Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  } finally {
    db.close()
  }
}

/** The files of a folder and of those below it, by their paths below it; empty where there is no folder. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort()
}

/** What the runtime keeps of a conversation. */
export async function runtimeFilesOf(
  { claudeDir }: Workbench,
  conversation: string | null,
): Promise<string[]> {
  const files = await filesBelow(join(claudeDir, 'projects'))
  return files.filter((file) => file.includes(conversation ?? 'no conversation'))
}
