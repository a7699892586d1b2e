import { z } from 'zod'
import { ProjectId, QuestionId, SessionId, TicketKey } from './ids.ts'
import { FoundThing, Passphrase } from './moving.ts'
import { KeptFile, ParkedWork } from './parking.ts'
import { Refusal } from './refusal.ts'
import { AcpAgent, RuntimeName, RuntimeVersions } from './runtimes.ts'

/** A process by identity: a pid alone may have been given to another process meanwhile. */
export const ProcessIdentity = z.object({
  pid: z.int().min(1),
  /** As the system gives it (on Linux clock ticks since boot); equal means the same process. */
  startTime: z.string(),
})
export type ProcessIdentity = z.infer<typeof ProcessIdentity>

/** `BALLET_SESSION=<session>:<nonce>` in the environment of everything that a session started. */
export const SessionMarker = z.object({
  session: SessionId,
  nonce: z.string().regex(/^[0-9a-f]{16}$/),
})
export type SessionMarker = z.infer<typeof SessionMarker>

/** Of Ballet's own git. What an earlier try of the same marker left running is ended first. */
const gitMarker = { marker: SessionMarker }

/** What was kept of a parked session, and what opens it. */
const keptWork = {
  work: ParkedWork,
  /** 32 bytes in base64. */
  key: z.string(),
  /** The session's folder of kept files. */
  keptDir: z.string(),
}

/**
 * What became of a parked session since. `behind`: it pushed more, up to `pushedCommit`. `partial`: it was restored
 * without kept files that are damaged, which are not among the work any more.
 */
const keptSince = {
  behind: z.literal(true).optional(),
  partial: z.literal(true).optional(),
}

/** What each project adds to the environment: runtimes may keep their conversations elsewhere for it. */
const projectEnvs = { envs: z.array(z.record(z.string(), z.string())) }

/** A session that no agent holds, and its workspace. */
const unheld = {
  session: SessionId,
  ticket: TicketKey,
  repo: z.string(),
  baseBranch: z.string(),
  branch: z.string(),
  pushedCommit: z.string().nullable(),
  mirrorDir: z.string(),
  workspaceDir: z.string(),
  /** What the project adds to the environment. */
  env: z.record(z.string(), z.string()),
  ...gitMarker,
}

/** Of the commit of what is uncommitted. */
const commitMessage = { message: z.string() }

/** The pushed commit; null when there was nothing that the remote does not have. */
const pushedCommit = {
  commit: z.string().nullable(),
  notices: z.array(
    z.object({ level: z.enum(['info', 'warning']), code: z.string(), text: z.string() }),
  ),
}

/** What the host finds out through an agent, since git and the runtimes are the agents' business. */
export const Probe = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('remote'), repo: z.string(), branch: z.string().optional() }),
  z.object({
    kind: z.literal('runtimes'),
    paths: z.record(z.string(), z.string()),
    /** Those of the settings. */
    acpAgents: z.record(z.string(), AcpAgent),
    /** As a session of a project finds them, with what the project adds to the environment; only this one where named. */
    of: z
      .object({ runtime: RuntimeName.optional(), env: z.record(z.string(), z.string()) })
      .optional(),
    /** For each of these, how it stands with what it runs, beside how it stands without any. */
    projects: z
      .array(
        z.object({
          id: ProjectId,
          name: z.string(),
          env: z.record(z.string(), z.string()),
          runtimes: z.array(RuntimeName),
        }),
      )
      .optional(),
  }),
  /** Ends every process that carries one of the markers, and verifies it. */
  z.object({ kind: z.literal('reap'), markers: z.array(SessionMarker) }),
  /** Removes a workspace of a session that no agent holds; refused when work in it is not pushed. */
  z.object({
    kind: z.literal('workspace.remove'),
    workspaceDir: z.string(),
    repo: z.string(),
    branch: z.string(),
    pushedCommit: z.string().nullable(),
    /** What the project adds to the environment. */
    env: z.record(z.string(), z.string()),
    force: z.boolean(),
    ...gitMarker,
  }),
  /**
   * Keeps what the finish of a parked session replaces on the remote: until the finish is on record the remote may hold
   * the one or the other. `keep` names what else is kept of the session. It may be done again.
   */
  z.object({
    kind: z.literal('park.keep'),
    ...{ ...unheld, ...commitMessage, ...keptWork, ...keptSince },
    keep: z.array(z.string()),
  }),
  /** Commits and pushes the work of a parked session out of what is kept of it. It may be done again. */
  z.object({
    kind: z.literal('park.finish'),
    ...{ ...unheld, ...commitMessage, ...keptWork, ...keptSince },
  }),
  /** Commits and pushes the work of a session that no agent holds; nothing is removed. */
  z.object({
    kind: z.literal('workspace.push'),
    ...unheld,
    ...commitMessage,
  }),
  /** Pushes the parked work of a session that could not be pushed, from what is kept of it. It may be done again. */
  z.object({
    kind: z.literal('park.push'),
    repo: z.string(),
    baseBranch: z.string(),
    branch: z.string(),
    /** What Ballet last pushed to the branch: nothing else there is replaced. */
    pushedCommit: z.string().nullable(),
    mirrorDir: z.string(),
    env: z.record(z.string(), z.string()),
    ...keptWork,
    ...gitMarker,
  }),
  /**
   * Writes an exported session to a new file, sealed with the passphrase: what Core put into `folder`, what is kept
   * of it, and its commits.
   */
  z.object({
    kind: z.literal('session.pack'),
    folder: z.string(),
    file: z.string(),
    passphrase: Passphrase,
    ...keptWork,
    ...gitMarker,
    repo: z.string(),
    baseBranch: z.string(),
    branch: z.string(),
    mirrorDir: z.string(),
    env: z.record(z.string(), z.string()),
  }),
  /** Takes such a file apart into `folder`; what was kept is sealed there with this host's key. */
  z.object({
    kind: z.literal('session.unpack'),
    file: z.string(),
    passphrase: Passphrase,
    folder: z.string(),
    key: keptWork.key,
  }),
  /**
   * Removes a branch of Ballet's from a remote, and what the mirror keeps of it. Refused where it holds what no other
   * branch of the remote has, unless it is forced. `look`: only whether it would be refused.
   */
  z.object({
    kind: z.literal('branch.remove'),
    repo: z.string(),
    branch: z.string(),
    mirrorDir: z.string(),
    env: z.record(z.string(), z.string()),
    look: z.boolean(),
    force: z.boolean(),
    ...gitMarker,
  }),
  /** Removes what a runtime keeps of these conversations, which Ballet began. */
  z.object({
    kind: z.literal('state.remove'),
    runtime: RuntimeName,
    /** As in a session's. */
    runtimePath: z.string().nullable(),
    conversations: z.array(z.string()),
    env: z.record(z.string(), z.string()),
    /** What is started for it carries it; what an earlier try left is ended first. */
    marker: SessionMarker,
  }),
  /** Everything in the data folder that Ballet makes, and what runtimes keep of conversations in its workspaces. */
  z.object({ kind: z.literal('things.find'), ...projectEnvs }),
  /** Removes found things, each by itself; one that is not what was found any more is left. */
  z.object({ kind: z.literal('things.remove'), things: z.array(FoundThing), ...projectEnvs }),
  /** A short read-only run of a runtime over the sources, which must end within the limit. */
  z.object({
    kind: z.literal('planner'),
    question: QuestionId,
    marker: SessionMarker,
    runtime: RuntimeName,
    runtimePath: z.string().nullable(),
    model: z.string().nullable(),
    runtimeArgs: z.array(z.string()),
    env: z.record(z.string(), z.string()),
    /** Where the repository's sources are read from: `commit` in the mirror; the workspace's HEAD where one is named. */
    workspaceDir: z.string().nullable(),
    mirrorDir: z.string(),
    commit: z.string().nullable(),
    /** As the project names them. */
    sources: z.array(z.string()),
    /** Its own folder under the data folder; removed when the run is over. */
    folder: z.string(),
    /** The question stands last in it. */
    prompt: z.string(),
    costLimitUsd: z.number().min(0),
  }),
])
export type Probe = z.infer<typeof Probe>

/** Of a runtime in one environment. */
const runtimeLogin = {
  loggedIn: z.boolean().nullable(),
  /** How it is logged in, such as `api_key` or `claude.ai`. */
  login: z.string().nullable(),
}

/** What was found of one runtime on this machine. */
export const RuntimeReport = z.object({
  runtime: RuntimeName,
  path: z.string().nullable(),
  version: z.string().nullable(),
  ...runtimeLogin,
  versions: RuntimeVersions,
  problem: Refusal.nullable(),
  /** What is worth knowing and keeps nothing from working, such as a version newer than the tested ones. */
  notice: Refusal.nullable(),
  /**
   * The projects that run with it, each with its own environment; absent where they were not asked about. A key that
   * only a project has is seen here alone.
   */
  projects: z
    .array(
      z.object({
        project: ProjectId,
        name: z.string(),
        ...runtimeLogin,
        problem: Refusal.nullable(),
      }),
    )
    .optional(),
})
export type RuntimeReport = z.infer<typeof RuntimeReport>

export const ProbeFinding = z.discriminatedUnion('kind', [
  /** `branch` is the one asked for or the remote's default; `commit` its tip. */
  z.object({ kind: z.literal('remote'), branch: z.string(), commit: z.string() }),
  z.object({
    kind: z.literal('runtimes'),
    git: z.object({ path: z.string().nullable(), version: z.string().nullable() }),
    runtimes: z.array(RuntimeReport),
  }),
  z.object({ kind: z.literal('reap'), ended: z.array(ProcessIdentity) }),
  z.object({ kind: z.literal('workspace.remove'), removed: z.boolean() }),
  /** `gone`: there is no workspace. */
  z.object({
    kind: z.literal('workspace.push'),
    ...pushedCommit,
    gone: z.literal(true).optional(),
  }),
  /** What is kept of it from now on; null when the finish replaces nothing. */
  z.object({ kind: z.literal('park.keep'), replaced: ParkedWork.nullable() }),
  z.object({ kind: z.literal('park.finish'), ...pushedCommit }),
  /** The branch on the remote is at this commit now. */
  z.object({ kind: z.literal('park.push'), commit: z.string() }),
  z.object({ kind: z.literal('session.pack'), bytes: z.int().min(0) }),
  /** What was kept, in the folder `sealed` of the given one. */
  z.object({ kind: z.literal('session.unpack'), files: z.array(KeptFile).max(20) }),
  /** The commit of the branch that is removed, or would be; null when the remote has no such branch. */
  z.object({ kind: z.literal('branch.remove'), commit: z.string().nullable() }),
  z.object({ kind: z.literal('state.remove'), files: z.int().min(0) }),
  z.object({ kind: z.literal('things.find'), things: z.array(FoundThing) }),
  /** In the order of the things; null for one that is gone. */
  z.object({ kind: z.literal('things.remove'), refusals: z.array(Refusal.nullable()) }),
  z.object({
    kind: z.literal('planner'),
    /** As the runtime gave it; nobody has looked up the quotes yet. */
    result: z.union([
      z.object({
        answer: z.string(),
        citations: z.array(z.object({ source: z.string(), place: z.string(), quote: z.string() })),
      }),
      z.object({ undecided: z.string() }),
    ]),
    /** The text of each cited source as the run could read it; null where it is not among the sources. */
    texts: z.record(z.string(), z.string().nullable()),
    costUsd: z.number().min(0),
    durationMs: z.number().min(0),
  }),
])
export type ProbeFinding = z.infer<typeof ProbeFinding>
