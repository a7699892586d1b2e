import { describe, expect, it } from 'vitest'
import { fileOf, isOpenable, isOurs } from './addresses.ts'
import { readArguments } from './arguments.ts'
import { describeRefusal } from './refusal-page.ts'

describe('fileOf', () => {
  it.each([
    ['/', '/app/index.html'],
    ['/assets/a%20b.js', '/app/assets/a b.js'],
    ['/assets/../index.html', '/app/index.html'],
  ])('%s', (path, file) => expect(fileOf('/app', path)).toBe(file))

  it.each(['/../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/..%2fapp2/x', '/a%00b', '/%zz', ''])(
    'refuses %s',
    (path) => expect(fileOf('/app', path)).toBeUndefined(),
  )
})

describe('isOurs', () => {
  it.each(['app://ballet', 'app://ballet/index.html'])('%s', (one) =>
    expect(isOurs(one)).toBe(true),
  )
  it.each(['app://ballet.evil/x', 'app://other/', 'https://ballet/', 'file:///app', ''])(
    'not %s',
    (one) => expect(isOurs(one)).toBe(false),
  )
})

describe('isOpenable', () => {
  it.each(['https://example.org/a?b#c', 'http://x', 'mailto:a@b.org', 'HTTPS://X'])('%s', (one) =>
    expect(isOpenable(one)).toBe(true),
  )
  it.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/html,x',
    'vscode://x',
    'smb://host/share',
    'app://ballet/do/quit',
    '/relative',
    '',
  ])('not %s', (one) => expect(isOpenable(one)).toBe(false))
})

describe('readArguments', () => {
  it('finds its own words among those of Electron', () => {
    const argv = ['/x/electron', '--no-sandbox', '/app', '--data', 'my data', '--demo', '--foo=1']
    expect(readArguments(argv, {}, '/home/p')).toEqual({ dataDir: '/home/p/my data', demo: true })
    expect(readArguments(['x', '--data=/d'], { BALLET_DATA: '/e' }, '/')).toEqual({
      dataDir: '/d',
      demo: false,
    })
  })

  it('takes the data folder of the environment, or none', () => {
    expect(readArguments(['x'], { BALLET_DATA: 'e' }, '/w').dataDir).toBe('/w/e')
    expect(readArguments(['x'], { BALLET_DATA: '' }, '/w').dataDir).toBeUndefined()
  })

  it.each([[['--data']], [['--data', '--demo']], [['--data=']]])('refuses %j', (argv) => {
    expect(() => readArguments(argv, {}, '/')).toThrow('--data needs a folder')
  })
})

describe('describeRefusal', () => {
  it('names cause, next step and folder, and lets no text become markup', () => {
    const page = describeRefusal(
      { code: 'storage.corrupt', message: 'The <b>file</b> is "broken"', hint: "Copy it & don't" },
      '/data/<script>',
      false,
    )
    expect(page).toContain('The &#60;b&#62;file&#60;/b&#62; is &#34;broken&#34;')
    expect(page).toContain('Copy it &#38; don&#39;t')
    expect(page).toContain('/data/&#60;script&#62;')
    expect(page).toContain('storage.corrupt')
    expect(page).not.toMatch(/<script|<b>/)
  })

  it('says whether anything ran before', () => {
    const refusal = { code: 'storage.failed', message: 'The disk is gone.' }
    expect(describeRefusal(refusal, '/d', false)).toContain('Nothing was changed.')
    expect(describeRefusal(refusal, '/d', true)).toContain('Sessions go on at the next start.')
  })
})
