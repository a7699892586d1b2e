import { afterEach, expect, it, vi } from 'vitest'
import type { InputId } from '../../src-shared/ids.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

it('a text on its way when the window is loaded again comes back, as the same input', async () => {
  const stored = new Map<string, string>()
  vi.stubGlobal('window', { addEventListener: () => undefined })
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
    removeItem: (name: string) => stored.delete(name),
  })
  const outgoing = (id: string, session: string, text: string) => ({
    id: id as InputId,
    session,
    text,
    images: [],
    interrupts: false,
  })
  const before = await import('./outgoing.ts')
  before.addOutgoing(outgoing('i1', 's1', 'given'))
  before.addOutgoing(outgoing('i2', 's1', 'on its way'))
  before.addOutgoing(outgoing('i3', 's2', 'elsewhere'))
  before.dropOutgoing('i1')
  expect(before.takeUnsent('s1')).toEqual([])
  vi.resetModules()
  const after = await import('./outgoing.ts')
  after.addOutgoing(outgoing('i4', 's2', 'new'))
  expect(after.takeUnsent('s1')).toEqual(['on its way'])
  expect(after.takeUnsent('s1')).toEqual([])
  expect(after.takeUnsent('s2')).toEqual(['elsewhere'])
  expect(after.idForText('s1', 'on its way', () => 'other' as InputId)).toBe('i2')
})
