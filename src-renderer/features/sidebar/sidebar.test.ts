import { describe, expect, it } from 'vitest'
import { littleWorld, muchWorld, type World } from '../../fixture/world.ts'
import { sketchOf } from '../../sync/records.ts'
import { type Line, sidebarLines } from './list.ts'
import { treeMove } from './tree-keys.ts'

function linesOf(world: World, toggled: string[] = []): Line[] {
  const byId = <T extends { id: string }>(list: T[]) => new Map(list.map((each) => [each.id, each]))
  return sidebarLines(
    byId(world.projects),
    byId(world.tickets),
    byId(world.sessions.map(sketchOf)),
    new Set(toggled),
  )
}

const shape = (lines: Line[]) =>
  lines.map((line) =>
    line.line === 'project' ? line.name : line.line === 'group' ? `  ${line.status}` : '    ·',
  )

describe('the sidebar', () => {
  it('groups tickets by project and status, and folds what is over', () => {
    expect(shape(linesOf(littleWorld()))).toEqual([
      'api',
      '  In progress',
      ...['    ·', '    ·', '    ·'],
      '  Done',
      'shop',
      '  In progress',
      ...['    ·', '    ·'],
      '  Ready',
      ...['    ·', '    ·'],
      '  Backlog',
      '    ·',
    ])
  })

  it('opens and folds what a person toggled', () => {
    const world = littleWorld()
    const [shop, api] = world.projects
    const lines = linesOf(world, [shop?.id ?? '', `${api?.id}/Done`])
    expect(lines.at(-1)).toMatchObject({ line: 'project', name: 'shop', folded: true })
    expect(lines.filter((line) => line.line === 'ticket')).toHaveLength(7)
  })

  it('shows each ticket once, with its newest session', () => {
    const world = muchWorld()
    const every = world.projects.flatMap(({ id }) => [`${id}/Done`, `${id}/Cancelled`])
    const tickets = linesOf(world, every).filter((line) => line.line === 'ticket')
    expect(tickets).toHaveLength(1_000)
    expect(new Set(tickets.map(({ key }) => key)).size).toBe(1_000)
  })

  it('moves as a tree does', () => {
    const lines = linesOf(littleWorld())
    const key = (name: string, at: number) => treeMove(name, lines, at, false)
    expect(key('ArrowDown', 0)).toEqual({ act: 'go', to: 1 })
    expect(key('ArrowUp', 0)).toEqual({ act: 'go', to: 0 })
    expect(key('End', 0)).toEqual({ act: 'go', to: lines.length - 1 })
    expect(key('ArrowLeft', 3)).toEqual({ act: 'go', to: 1 })
    expect(key('ArrowLeft', 1)).toEqual({ act: 'fold', key: lines[1]?.key })
    expect(key('ArrowRight', 5)).toEqual({ act: 'fold', key: lines[5]?.key })
    expect(key('ArrowRight', 0)).toEqual({ act: 'go', to: 1 })
    expect(treeMove('Enter', lines, 2, true)).toEqual({ act: 'open', beside: true })
    expect(key('x', 2)).toBeNull()
    expect(treeMove('ArrowDown', [], 0, false)).toBeNull()
  })
})
