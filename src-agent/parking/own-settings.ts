import { withoutCredentials } from '../git/redact.ts'
import type { Git } from '../git/run.ts'
import { BALLET_IDENTITY } from '../workspace/clone.ts'
import { listed } from './survey.ts'

/** Settings of a clone that Ballet did not make. */
export type OwnSettings = {
  /** Name and value, in their order; a name may come more than once. */
  kept: readonly (readonly [string, string])[]
  /** What no manifest takes, in words: names alone, since a value may be a secret. */
  left: readonly string[]
}

/** Settings that change the bytes of files, whoever made them. */
export const BYTE_SETTINGS: readonly string[] = ['core.autocrlf', 'core.eol', 'core.safecrlf']

const USER = /^user\.(name|email)$/
const REMOTE = /^remote\.(.+)\.(url|pushurl|fetch|push|tagopt|prune|prunetags)$/s
const BRANCH = /^branch\..+\.(remote|merge|rebase|pushremote|description|mergeoptions)$/s
/** What git and Ballet write into every clone, and git-lfs into those that it looks at. */
const OF_EVERY_CLONE =
  /^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|gc\.auto|lfs\.repositoryformatversion)$/
const OF_ORIGIN = /^remote\.origin\.(url|fetch)$/

/** Whether a setting may come back from a manifest: none that names a program, or a place of one. */
export function isRestorable(name: string): boolean {
  return BYTE_SETTINGS.includes(name) || USER.test(name) || isListed(name)
}

/** Whether a setting may have several values, and is in no new clone. */
export function isListed(name: string): boolean {
  return BRANCH.test(name) || isOtherRemote(name)
}

function isOtherRemote(name: string): boolean {
  const remote = REMOTE.exec(name)?.[1]
  return remote !== undefined && remote !== 'origin'
}

/** Those of a clone, but for the ones that change bytes, which are looked up wherever they are set. */
export async function readOwnSettings(git: Git, cwd: string, repo: string): Promise<OwnSettings> {
  const all = (await listed(git, ['config', '--local', '--list', '-z'], { cwd })).map(asSetting)
  const secret = new Set(
    all.flatMap(([name, value]) => {
      const remote = REMOTE.exec(name)?.[1]
      return remote !== undefined && remote !== 'origin' && holdsSecret(value) ? [remote] : []
    }),
  )
  const kept: (readonly [string, string])[] = []
  const left = new Set(
    [...secret].map((remote) => `the remote ${remote} (its address has a password)`),
  )
  for (const [name, value] of all) {
    const remote = REMOTE.exec(name)?.[1]
    if (OF_EVERY_CLONE.test(name) || BYTE_SETTINGS.includes(name)) continue
    if (USER.test(name) && BALLET_IDENTITY.includes(value)) continue
    if (OF_ORIGIN.test(name) && isOfProject(name, value, repo)) continue
    if (remote !== undefined && secret.has(remote)) continue
    if (isRestorable(name)) kept.push([name, value])
    else left.add(`the setting ${name}`)
  }
  return { kept, left: [...left] }
}

function isOfProject(name: string, value: string, repo: string): boolean {
  return name === 'remote.origin.url'
    ? value === repo
    : value === '+refs/heads/*:refs/remotes/origin/*'
}

/** A name alone means true. */
function asSetting(entry: string): [string, string] {
  const text = Buffer.from(entry, 'latin1').toString('utf8')
  const end = text.indexOf('\n')
  return end < 0 ? [text, 'true'] : [text.slice(0, end), text.slice(end + 1)]
}

/** A password, or a token in the query, of an address. */
function holdsSecret(value: string): boolean {
  return withoutCredentials(value) !== value || /:\/\/.*\?/.test(value)
}
