import { describe, expect, it } from 'vitest'
import { type Asking, changeOf, readableArguments, wantedOf } from './wanted.ts'

const asking = (toolKind: Asking['toolKind'], input: string): Asking => ({
  id: 'r',
  name: 'Tool',
  toolKind,
  title: 'the title',
  input,
  inputBlob: undefined,
})

describe('what a runtime asks to do', () => {
  it('is a command, whole, with what the runtime says of it', () => {
    const command = `echo ${'x'.repeat(5_000)} && rm -rf build`
    const input = JSON.stringify({ command, description: 'clean' })
    expect(wantedOf(asking('execute', input))).toEqual({ shows: 'command', command, note: 'clean' })
  })

  it('is a change of a file, as far as the arguments tell one', () => {
    const edit = { file_path: 'a.ts', old_string: 'a\nb\nc', new_string: 'a\nx\nc' }
    expect(wantedOf(asking('edit', JSON.stringify(edit)))).toEqual({
      shows: 'change',
      path: 'a.ts',
      patch: ' a\n-b\n+x\n c',
      added: 1,
      removed: 1,
    })
    const written = wantedOf(asking('edit', JSON.stringify({ file_path: 'b', content: '1\n2\n' })))
    expect(written).toMatchObject({ patch: '+1\n+2', added: 2, removed: 0 })
  })

  it('is every argument by its name otherwise, and what is no JSON as it came', () => {
    const shown = wantedOf(asking('fetch', '{"url":"https://a.example","depth":2}'))
    expect(shown).toEqual({ shows: 'arguments', text: 'url: https://a.example\ndepth: 2' })
    expect(wantedOf(asking('execute', '{"command": "cut off he'))).toEqual({
      shows: 'arguments',
      text: '{"command": "cut off he',
    })
    expect(wantedOf(asking('other', '{}'))).toEqual({ shows: 'arguments', text: 'the title' })
    expect(readableArguments('[1]')).toBe('[1]')
  })

  it('shows no more than three equal lines around a change, and counts what comes and goes', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`)
    const after = lines.map((line, at) => (at === 10 ? 'new' : line))
    const { patch, added, removed } = changeOf(lines.join('\n'), after.join('\n'))
    expect(patch.split('\n')).toEqual([
      ...[' line 7', ' line 8', ' line 9', '-line 10', '+new'],
      ...[' line 11', ' line 12', ' line 13'],
    ])
    expect([added, removed]).toEqual([1, 1])
    expect(changeOf('same', 'same')).toMatchObject({ added: 0, removed: 0 })
  })
})
