import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { suitesOf } from './ground/suites.mjs'

const root = resolve(import.meta.dirname, '..')
const read = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8')

const decisions = readdirSync(join(root, 'docs/decisions')).map((name) => `docs/decisions/${name}`)
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/ARCHITECTURE.md',
  'docs/GLOSSARY.md',
  'docs/SCRIPTED-MODEL.md',
  'docs/performance.md',
  'docs/reliability.md',
  'docs/runtimes.md',
  ...decisions,
]

const matches = (/** @type {string} */ text, /** @type {RegExp} */ pattern) =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '')

/** Words of a shell line as far as the documents use them: quotes, no expansion. */
const words = (/** @type {string} */ line) =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '')

describe('the documents', () => {
  it.each(documents)('%s links to nothing that is missing', (document) => {
    const links = matches(read(document), /\]\(([^)#]+)\)/g).filter(
      (link) => !/^https?:/.test(link),
    )
    const missing = links.filter((link) => !existsSync(join(root, dirname(document), link)))
    expect(missing).toEqual([])
  })

  it.each(documents)('%s names only files and folders that are there', (document) => {
    const named = matches(
      read(document),
      /`((?:src-[a-z]+|scripts|e2e|docs|resources|bench)\/[\w./-]*)`/g,
    )
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('name only npm scripts and suites that there are', () => {
    const { scripts } = JSON.parse(read('package.json'))
    const suites = suitesOf(root).map(({ name }) => name)
    const texts = documents.map(read).join('\n')
    const named = matches(texts, /(?:`|^)npm (?:run )?(?!ci\b|install\b|pack\b)([a-z][\w:]*)/gm)
    expect(named.length).toBeGreaterThan(3)
    expect([...new Set(named)].filter((name) => scripts[name] === undefined)).toEqual([])
    const only = matches(texts, /--only ([a-z0-9]+)/g)
    expect(only.filter((name) => !suites.includes(name))).toEqual([])
    const listed = matches(read('CONTRIBUTING.md'), /^\| run one suite .*\(or (.*)\) \|$/gm)
      .flatMap((list) => matches(list, /`([a-z0-9]+)`/g))
      .concat(only)
    expect([...new Set(listed)].sort()).toEqual([...suites].sort())
  })
})

describe('the command lines of the README', () => {
  const lines = ['README.md', 'docs/SCRIPTED-MODEL.md'].flatMap((document) =>
    matches(read(document), /^(?:npx ballet|node bin\/ballet\.mjs) (.*)$/gm),
  )

  it('are there', () => expect(lines.length).toBeGreaterThan(5))

  it.each(lines)('ballet %s is understood', (line) => {
    const [command = ''] = line.split(/ +[<&#](?: |$)/)
    const given = words(command)
    const data = join(tmpdir(), 'ballet-docs-no-host')
    // `serve` would begin to serve; its help shows that its options are known.
    const serves = given[0] === 'serve'
    const ran = spawnSync(
      process.execPath,
      ['bin/ballet.mjs', ...given, ...(serves ? ['--help'] : ['--data', data, '--json'])],
      {
        cwd: root,
        encoding: 'utf8',
        input: 'text',
        timeout: 30_000,
        env: { ...process.env, BALLET_PASSPHRASE: 'a passphrase of some length' },
      },
    )
    if (serves) {
      expect(ran.status).toBe(0)
      const options = given.filter((word) => word.startsWith('--'))
      expect(options.filter((option) => !ran.stdout.includes(option))).toEqual([])
    } else {
      expect(JSON.parse(ran.stderr).error.code).toBe('host.not-running')
      expect(ran.status).toBe(1)
    }
  })
})
