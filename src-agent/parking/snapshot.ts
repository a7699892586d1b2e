import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BalletError } from '../../src-shared/refusal.ts'
import { someOf } from '../../src-shared/some-of.ts'
import type { Git, GitOptions } from '../git/run.ts'
import { BALLET_IDENTITY } from '../workspace/clone.ts'
import { withRefusals } from '../workspace/failure.ts'
import { type PushedCommit, readRecord } from '../workspace/record.ts'
import type { Report, WorkspacePlan } from '../workspace/report.ts'
import { commitOf, isAncestor, mustBeWhole } from '../workspace/state.ts'
import { packEntries } from './archive.ts'
import { beyondCommits } from './beyond-commits.ts'
import {
  bundleLocalRefs,
  bundlePath,
  commitsOfMirror,
  knownCommits,
  readLocalRefs,
  updateRefs,
} from './local-refs.ts'
import { indexMessage, type SnapshotManifest, workMessage } from './manifest.ts'
import { hooksOf, ignoredInWords, tellNotKept } from './not-kept.ts'
import { BYTE_SETTINGS, type OwnSettings, readOwnSettings } from './own-settings.ts'
import { absolutePath, nameOfPath } from './path-bytes.ts'
import { type ScannedWork, scanWork } from './scan.ts'
import { type SealedFile, sealFile, sealStream } from './sealed-file.ts'
import { type Survey, setting, surveyWorkspace } from './survey.ts'
import { archiveWorkspace } from './workspace-archive.ts'

/** Under this name the snapshot is kept in the clone. */
export const SNAPSHOT_REF = 'refs/ballet/snapshot'

/** Everything of a workspace, outside of it or in its repository. */
export type Snapshot = {
  /** What the session's branch on the remote shall be; null when there is no commit at all. */
  commit: string | null
  /** Whether `commit` and the one before it stand for uncommitted work. */
  workInProgress: boolean
  /** False: the remote has the commit already. */
  needsPush: boolean
  /** Where the workspace was. */
  from: string
  /** Where the work began. */
  base: string
  /** What Ballet pushed of it so far, oldest first. */
  pushed: readonly PushedCommit[]
  /** Files that are not for the remote, by `nameOfPath`; they are in `asideArchive`, or in `archive`. */
  aside: readonly { name: string; why: string; bytes: number }[]
  /** What git ignores and nothing keeps, in words; null when there is nothing. */
  ignored: string | null
  asideArchive: SealedFile | null
  /** Other branches, tags and stashes: a sealed git bundle. */
  refsBundle: SealedFile | null
  /** The whole workspace, where commits cannot hold it, and why. */
  archive: SealedFile | null
  reasons: readonly string[]
}

export type SnapshotTarget = {
  /** A folder outside of the workspace, for the sealed files. */
  folder: string
  /** 32 bytes. */
  key: Uint8Array
  /** Default: 2 GB. */
  archiveLimitBytes?: number
}

/**
 * Takes a snapshot of everything in a workspace to which nothing writes any more. Its files, index, HEAD and branches
 * stay as they are, whatever happens; taken again it gives the same commits. Rejects with `BalletError`:
 * `workspace.broken`, `workspace.too-large`, `workspace.worktree-elsewhere`, `disk.full`, …
 */
export function takeSnapshot(
  git: Git,
  plan: WorkspacePlan,
  target: SnapshotTarget,
  report: Report,
  signal: AbortSignal,
): Promise<Snapshot> {
  return withRefusals('taking a snapshot of the workspace', () =>
    snapshotOf(git, plan, target, report, signal),
  )
}

async function snapshotOf(
  git: Git,
  plan: WorkspacePlan,
  target: SnapshotTarget,
  report: Report,
  signal: AbortSignal,
): Promise<Snapshot> {
  const { workspaceDir: cwd } = plan
  await mustBeWhole(cwd)
  const record = await readRecord(cwd)
  if (record === null) throw notOurs(cwd)
  const survey = await surveyWorkspace(git, cwd, plan.branch, signal)
  const reasons = await beyondCommits(git, survey, report, signal)
  await mkdir(target.folder, { recursive: true, mode: 0o700 })
  const aside = survey.aside.map(({ path, why, bytes }) => ({ name: nameOfPath(path), why, bytes }))
  const ignored = ignoredInWords(survey)
  const common = { from: cwd, base: record.base, pushed: record.pushed, aside, ignored, reasons }
  const nothing = { asideArchive: null, refsBundle: null, archive: null }
  if (reasons.length > 0) {
    const archive = await archiveWorkspace(
      git,
      survey,
      {
        ...{ file: join(target.folder, 'workspace.sealed'), key: target.key, reasons },
        without: await commitsOfMirror(git, plan, [
          record.base,
          `refs/remotes/origin/${plan.baseBranch}`,
        ]),
        ...(target.archiveLimitBytes === undefined ? {} : { limitBytes: target.archiveLimitBytes }),
      },
      signal,
    )
    tellArchive(report, reasons)
    await tellNotKept(survey, [], report)
    const commit = survey.own ?? survey.head.commit
    const needsPush = await isWorthPushing(git, plan, commit)
    return { ...common, ...nothing, archive, commit, workInProgress: false, needsPush }
  }
  tellAside(report, aside)
  const settings = await readOwnSettings(git, cwd, plan.repo)
  await tellNotKept(survey, [...settings.left, ...(await hooksOf(cwd))], report)
  const work = await scanWork(git, survey, signal)
  const manifest = await makeManifest(git, plan, record.base, survey, work, settings)
  if (await isAllCommitted(git, survey, work, manifest)) {
    const { commit } = survey.head
    const needsPush = await isWorthPushing(git, plan, commit)
    return { ...common, ...nothing, commit, workInProgress: false, needsPush }
  }
  const commit = await commitWork(git, survey, work, manifest, signal)
  return {
    ...common,
    ...{ commit, workInProgress: true, needsPush: true, archive: null },
    asideArchive: await sealAside(survey, target, signal),
    refsBundle: await sealRefs(git, plan, { manifest, commit, target }, signal),
  }
}

async function makeManifest(
  git: Git,
  plan: WorkspacePlan,
  base: string,
  survey: Survey,
  work: ScannedWork,
  settings: OwnSettings,
): Promise<SnapshotManifest> {
  const { cwd, head, own } = survey
  const names = (paths: readonly string[]) => paths.map(nameOfPath)
  const config = settings.kept.map(([name, value]): [string, string] => [name, value])
  for (const name of BYTE_SETTINGS) {
    const value = setting(survey.config, name)
    if (value !== undefined) config.push([name, value])
  }
  const info: SnapshotManifest['info'] = []
  for (const name of ['exclude', 'attributes'] as const) {
    const text = await readFile(join(cwd, '.git', 'info', name), 'latin1').catch(() => '')
    if (text !== '') info.push([name, nameOfPath(text)])
  }
  return {
    version: 1,
    ...{ session: plan.session, ticket: plan.ticket, branch: plan.branch, base, head, own },
    ...(await readLocalRefs(git, plan)),
    intentToAdd: work.intentToAdd.map(({ path, mode }) => ({ path: nameOfPath(path), mode })),
    modes: work.modes.map(({ path, mode }) => ({ path: nameOfPath(path), mode })),
    assumeUnchanged: names(work.assumeUnchanged),
    skipWorktree: work.skipWorktree.map(({ path, absent }) => ({ path: nameOfPath(path), absent })),
    raw: names(work.raw),
    emptyFolders: names(work.emptyFolders),
    ...{ aside: survey.aside.length, config, info, digest: work.digest },
  }
}

/** Whether a plain clone of the commit is the same workspace. */
async function isAllCommitted(
  git: Git,
  { cwd, head, own, aside }: Survey,
  work: ScannedWork,
  manifest: SnapshotManifest,
): Promise<boolean> {
  if (head.commit === null || head.branch !== manifest.branch || own !== head.commit) return false
  const more = [
    ...[manifest.refs, manifest.stashes, manifest.info, aside],
    ...[
      work.modes,
      work.intentToAdd,
      work.assumeUnchanged,
      work.skipWorktree,
      work.raw,
      work.emptyFolders,
    ],
  ]
  if (more.some((list) => list.length > 0)) return false
  // Settings of line ends are those of the person, and there anyway.
  if (manifest.config.some(([name]) => !BYTE_SETTINGS.includes(name))) return false
  const headTree = await git.text(['rev-parse', `${head.commit}^{tree}`], { cwd })
  return headTree === work.indexTree && headTree === work.workTree
}

async function isWorthPushing(
  git: Git,
  plan: WorkspacePlan,
  commit: string | null,
): Promise<boolean> {
  const { workspaceDir: cwd, baseBranch } = plan
  if (commit === null) return false
  const record = await readRecord(cwd)
  if ((record?.pushed.length ?? 0) > 0 || plan.pushedCommit !== null) return true
  const known = await knownCommits(git, cwd, [
    record?.base ?? null,
    `refs/remotes/origin/${baseBranch}`,
  ])
  for (const each of known) if (await isAncestor(git, cwd, commit, each)) return false
  return true
}

async function commitWork(
  git: Git,
  survey: Survey,
  work: ScannedWork,
  manifest: SnapshotManifest,
  signal: AbortSignal,
): Promise<string> {
  const { cwd, head, own } = survey
  const options: GitOptions = { cwd, signal, env: await identityOf(git, cwd) }
  const before = await commitOf(git, cwd, SNAPSHOT_REF)
  const index = await commitOnce(git, options, {
    tree: work.indexTree,
    parents: head.commit === null ? [] : [head.commit],
    message: indexMessage(manifest.ticket, manifest.session),
    before: before === null ? null : await commitOf(git, cwd, `${before}^1`),
  })
  const parents = [index]
  // Commits of the session's branch that HEAD left behind are on the remote too.
  const isBehind =
    own !== null && head.commit !== null && (await isAncestor(git, cwd, own, head.commit))
  if (own !== null && !isBehind) parents.push(own)
  const message = workMessage(manifest)
  const commit = await commitOnce(git, options, { tree: work.workTree, parents, message, before })
  await updateRefs(git, cwd, [`update ${SNAPSHOT_REF} ${commit}`])
  return commit
}

type NewCommit = {
  tree: string
  parents: readonly string[]
  message: string
  /** A commit that may be the same already. */
  before: string | null
}

async function commitOnce(git: Git, options: GitOptions, made: NewCommit): Promise<string> {
  const { tree, parents, message, before } = made
  if (before !== null) {
    const text = await git.text(['cat-file', 'commit', before], options)
    const head = [`tree ${tree}`, ...parents.map((parent) => `parent ${parent}`), ''].join('\n')
    const isSame = text.startsWith(`${head}author `) && text.endsWith(`\n\n${message.trimEnd()}`)
    if (isSame) return before
  }
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-']
  return git.text(args, { ...options, input: message })
}

/** The author of Ballet's commits where git, by now, knows none. */
async function identityOf(git: Git, cwd: string): Promise<Record<string, string>> {
  const known = await git.run(['var', 'GIT_COMMITTER_IDENT'], { cwd })
  const [name, email] = BALLET_IDENTITY
  const own = {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email },
  }
  return {
    ...(known.exitCode === 0 ? {} : own),
    ...{ GIT_CONFIG_COUNT: '1' },
    ...{ GIT_CONFIG_KEY_0: 'i18n.commitEncoding', GIT_CONFIG_VALUE_0: 'UTF-8' },
  }
}

async function sealAside(
  { cwd, aside }: Survey,
  { folder, key }: SnapshotTarget,
  signal: AbortSignal,
): Promise<SealedFile | null> {
  if (aside.length === 0) return null
  const entries = aside.map(({ path }) => ({ path, source: absolutePath(cwd, path) }))
  return sealStream(packEntries(entries), join(folder, 'aside.sealed'), key, signal)
}

async function sealRefs(
  git: Git,
  plan: WorkspacePlan,
  given: { manifest: SnapshotManifest; commit: string; target: SnapshotTarget },
  signal: AbortSignal,
): Promise<SealedFile | null> {
  const { manifest, commit, target } = given
  const cwd = plan.workspaceDir
  const file = bundlePath(target.folder, 'refs')
  // Not what other branches of the remote have: they may be gone by then.
  const known = [manifest.base, `refs/remotes/origin/${plan.baseBranch}`]
  const without = [...(await commitsOfMirror(git, plan, known)), commit]
  try {
    const bundle = await bundleLocalRefs(git, cwd, manifest, { file, without, signal })
    if (bundle === null) return null
    return await sealFile(bundle, join(target.folder, 'refs.sealed'), target.key, signal)
  } finally {
    await rm(file, { force: true })
  }
}

function tellAside(report: Report, aside: Snapshot['aside']): void {
  if (aside.length === 0) return
  const names = someOf(aside.map(({ name, why }) => `${name} (${why})`))
  const text = `Not for the remote, kept encrypted by Ballet: ${names}.`
  report.notice('info', 'snapshot.aside', text)
}

function tellArchive(report: Report, reasons: readonly string[]): void {
  const text = `Commits cannot hold all of the workspace, so it is kept whole and encrypted by Ballet: ${reasons.join(', ')}.`
  report.notice('info', 'snapshot.archive', text)
}

function notOurs(cwd: string): BalletError {
  return new BalletError({
    code: 'workspace.broken',
    message: `${cwd} is not the workspace of this session any more.`,
    hint: 'Ballet leaves it as it is. Take out of it what you need, move it away, then try again.',
  })
}
