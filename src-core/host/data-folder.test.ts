import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ProjectId, SessionId, TicketKey } from '../../src-shared/ids.ts'
import { layOut, prepareDataFolder } from './data-folder.ts'

let base: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ballet-data-'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const modeOf = (path: string) => statSync(path).mode & 0o777

describe('the data folder', () => {
  it('is made with its folders, for its owner alone', async () => {
    const folder = await prepareDataFolder(join(base, 'new', 'ballet é 🎻'))
    expect(modeOf(folder.dataDir)).toBe(0o700)
    for (const name of ['mirrors', 'workspaces', 'spool', 'scratch', 'logs']) {
      expect(existsSync(join(folder.dataDir, name))).toBe(true)
    }
    // A second start finds everything and changes nothing.
    writeFileSync(join(folder.spool, 'x.json'), '{}')
    expect(await prepareDataFolder(folder.dataDir)).toMatchObject({ spool: folder.spool })
    expect(existsSync(join(folder.spool, 'x.json'))).toBe(true)
  })

  it('is closed to others where it was open', async () => {
    mkdirSync(join(base, 'open'), { mode: 0o755 })
    const { dataDir } = await prepareDataFolder(join(base, 'open'))
    expect(modeOf(dataDir)).toBe(0o700)
  })

  it.each(['ballet.sqlite', 'settings.json', 'host.lock', 'logs'])(
    'is Ballet’s when it holds %s',
    async (name) => {
      const open = join(base, 'open')
      mkdirSync(join(open, name), { recursive: true })
      chmodSync(open, 0o755)
      const { dataDir } = await prepareDataFolder(open)
      expect(modeOf(dataDir)).toBe(0o700)
    },
  )

  it('is refused, and left as it is, where it is open to others and holds what is not Ballet’s', async () => {
    const open = join(base, 'open')
    mkdirSync(join(open, 'letters'), { recursive: true })
    chmodSync(open, 0o755)
    await expect(prepareDataFolder(open)).rejects.toMatchObject({
      code: 'data.unusable',
      message: expect.stringContaining('letters'),
      hint: expect.stringContaining('--data'),
    })
    expect(modeOf(open)).toBe(0o755)
    expect(readdirSync(open)).toEqual(['letters'])
    chmodSync(open, 0o700)
    await prepareDataFolder(open)
  })

  it('says where things lie', () => {
    const id = '01234567-89ab-7def-8123-456789abcdef'
    const folder = layOut(join(base, 'd'))
    expect(folder.mirror(ProjectId.parse(id))).toBe(join(base, 'd', 'mirrors', `${id}.git`))
    expect(folder.workspace(TicketKey.parse('SHOP-14'), SessionId.parse(id))).toBe(
      join(base, 'd', 'workspaces', 'SHOP-14-abcdef'),
    )
    expect(folder.database).toBe(join(base, 'd', 'ballet.sqlite'))
  })

  it.each([
    ['a file', 'file', ''],
    ['below a file', join('file', 'below'), ''],
  ])('is refused where it is %s', async (_name, path) => {
    writeFileSync(join(base, 'file'), 'content')
    await expect(prepareDataFolder(join(base, path))).rejects.toMatchObject({
      code: 'data.unusable',
      message: expect.stringContaining(join(base, 'file')),
      hint: expect.stringContaining('--data'),
    })
  })

  it('is refused where it cannot be written', async () => {
    // No one may make a folder there, not even the super user.
    await expect(prepareDataFolder('/proc/ballet')).rejects.toMatchObject({ code: 'data.unusable' })
  })
})
