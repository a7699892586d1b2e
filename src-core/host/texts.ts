import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import type { Texts } from '../ports.ts'

/** What runtimes are told, from the files that are shipped. Rejects with `BalletError`, code `host.incomplete`. */
export async function readTexts(resources: string): Promise<Texts> {
  const [skill, planner] = await Promise.all([
    readText(join(resources, 'skills', 'ballet.md')),
    readText(join(resources, 'prompts', 'planner.md')),
  ])
  return { skill, planner }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new BalletError(
      {
        code: 'host.incomplete',
        message: `The file ${file} cannot be read: ${String(error)}.`,
        hint: 'Install Ballet again.',
      },
      { cause: error },
    )
  }
}
