import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findScript } from './script.ts'

describe('the scripts in the document of the scripted model', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/SCRIPTED-MODEL.md'), 'utf8')
  const scripts = [...text.matchAll(/^```json\n([\s\S]*?)```/gm)].map(([, script = '']) => script)

  it('are there', () => expect(scripts.length).toBeGreaterThan(1))

  it.each(scripts)('%s is understood', (script) => {
    expect(findScript(`@@${script.trim()}@@`)).toMatchObject({ kind: 'steps' })
  })
})
