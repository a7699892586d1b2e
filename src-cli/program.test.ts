import { ORPCError } from '@orpc/client'
import { describe, expect, it } from 'vitest'
import type { MachineReport } from '../src-shared/headless-host.ts'
import type { Refusal } from '../src-shared/refusal.ts'
import { agent, ballet, input, project, session, testWorld, ticket } from './test-world.ts'

const REMOVED = {
  ...{ sessions: 1, events: 12, workspaces: 1, keptFiles: 0, keptBytes: 0, runtimeFiles: 2 },
  remoteBranch: 'left' as const,
}

const ID = '0197c0de-0000-7000-8000-000000000001'

const refused = (refusal: Refusal) => () => {
  throw new ORPCError('REFUSED', { defined: true, message: refusal.message, data: refusal })
}

/** Calls that keep what they got. */
function recording<T>(answer: T): { got: unknown[]; call: (given: never) => T } {
  const got: unknown[] = []
  return {
    got,
    call: (given: never) => {
      got.push(given)
      return answer
    },
  }
}

describe('what a command asks and prints', () => {
  it('adds a project with everything that was given', async () => {
    const { got, call } = recording(project)
    const world = testWorld({ projects: { add: call } })
    const words = 'project add --name Shop --repo git@example.org:shop.git --branch dev --model m1'
    const more = ['--setup', 'npm ci', '--env', 'A=1', '--env', 'B=x=y', '--window', '90s']
    expect(await ballet(world, ...words.split(' '), ...more, '--max-sessions', '2')).toBe(0)
    expect(got).toEqual([
      {
        commandId: ID,
        name: 'Shop',
        repo: 'git@example.org:shop.git',
        branch: 'dev',
        model: 'm1',
        runtime: 'claude-code',
        permission: 'full',
        setup: 'npm ci',
        env: { A: '1', B: 'x=y' },
        window: '90s',
        maxSessions: 2,
      },
    ])
    expect(world.out()).toContain(project.id)
  })

  it('prints one JSON object a line', async () => {
    const second = { ...project, name: 'Second' }
    const world = testWorld({ projects: { list: () => [project, second] } })
    expect(await ballet(world, 'project', 'list', '--json')).toBe(0)
    expect(world.rows()).toEqual([project, second])
  })

  it('prints a table for people, with ids in full', async () => {
    const world = testWorld({ tickets: { list: () => [ticket] } })
    expect(await ballet(world, 'ticket', 'list')).toBe(0)
    const [head, row] = world.out().split('\n')
    expect(head).toMatch(/^KEY +STATUS +PRIORITY +STAGE +PROJECT +ID +TITLE$/)
    expect(row).toContain(ticket.id)
    expect(row).toContain('Fix the cart')
  })

  it('says so when a list is empty, and prints nothing in JSON', async () => {
    const calls = { sessions: { list: () => [] } }
    const people = testWorld(calls)
    const programs = testWorld(calls)
    expect(await ballet(people, 'session', 'list')).toBe(0)
    expect(await ballet(programs, 'session', 'list', '--json')).toBe(0)
    expect(people.out()).toContain('There are no sessions')
    expect(programs.out()).toBe('')
  })

  it('adds and starts a ticket, with its body from the standard input', async () => {
    const { got, call } = recording(ticket)
    const world = testWorld({ tickets: { add: call } }, { stdin: 'line one\nline two\n' })
    const words = ['--project', 'Shop', '--title', 'Fix "it" 🚀 ../', '--body', '-', '--start']
    expect(await ballet(world, 'ticket', 'add', ...words, '--priority', '1', '--json')).toBe(0)
    expect(got).toEqual([
      {
        commandId: ID,
        project: 'Shop',
        title: 'Fix "it" 🚀 ../',
        body: 'line one\nline two\n',
        priority: 1,
        start: true,
      },
    ])
    expect(world.rows()).toEqual([ticket])
  })

  it('takes a body of a million characters', async () => {
    const { got, call } = recording(ticket)
    const body = 'x'.repeat(1_000_000)
    const world = testWorld({ tickets: { add: call } }, { stdin: body })
    expect(
      await ballet(world, 'ticket', 'add', '--project', 'p', '--title', 't', '--body', '-'),
    ).toBe(0)
    expect(got).toEqual([expect.objectContaining({ body })])
  })

  it.each([
    ['project show', 'projects', 'show', project, project.id],
    ['project delete', 'projects', 'delete', project, 'deleted'],
    ['ticket show', 'tickets', 'show', ticket, ticket.key],
    ['ticket start', 'tickets', 'start', session, session.id],
    ['ticket delete', 'tickets', 'delete', { ...ticket, removed: REMOVED }, 'deleted'],
    ['session show', 'sessions', 'show', session, session.branch],
    ['session stop', 'sessions', 'stop', { ...session, state: 'parked' as const }, 'parked'],
    [
      'session finish',
      'sessions',
      'finish',
      { ...session, state: 'finished' as const },
      'finished',
    ],
  ])(
    '%s names the thing and prints what became of it',
    async (words, group, name, record, told) => {
      const { got, call } = recording(record)
      // Before a finish it looks what is queued.
      const calls = { [group]: { show: () => session, [name]: call } }
      const people = testWorld(calls)
      expect(await ballet(people, ...words.split(' '), 'SHOP-1')).toBe(0)
      expect(got).toEqual([expect.objectContaining({ ref: 'SHOP-1' })])
      expect(people.out()).toContain(told)
      const programs = testWorld(calls)
      expect(await ballet(programs, ...words.split(' '), 'SHOP-1', '--json')).toBe(0)
      expect(programs.rows()).toEqual([record])
    },
  )

  it('sends a message with an id of its own, or the given one', async () => {
    const { got, call } = recording(input)
    const world = testWorld({ sessions: { send: call } }, { stdin: 'piped' })
    expect(await ballet(world, 'send', 'SHOP-1', 'go on')).toBe(0)
    expect(await ballet(world, 'send', 'SHOP-1', '-', '--id', input.id)).toBe(0)
    expect(got).toEqual([
      { ref: 'SHOP-1', text: 'go on', input: ID },
      { ref: 'SHOP-1', text: 'piped', input: input.id },
    ])
  })

  it('interrupts with and without a message', async () => {
    const { got, call } = recording(session)
    const world = testWorld({ sessions: { interrupt: call } })
    expect(await ballet(world, 'interrupt', 'SHOP-1')).toBe(0)
    expect(await ballet(world, 'interrupt', 'SHOP-1', 'rather this', '--id', input.id)).toBe(0)
    expect(got).toEqual([
      { ref: 'SHOP-1', commandId: ID },
      { ref: 'SHOP-1', commandId: input.id, input: input.id, text: 'rather this' },
    ])
  })

  it('shows the fleet', async () => {
    const calls = { agents: { list: () => [agent] } }
    const people = testWorld(calls)
    const programs = testWorld(calls)
    expect(await ballet(people, 'agents')).toBe(0)
    expect(people.out()).toMatch(/agent-1 +busy +SHOP-1 .* 4711 +200 MiB +12 %/)
    expect(await ballet(programs, '--json', 'agents')).toBe(0)
    expect(programs.rows()).toEqual([agent])
  })
})

describe('global options', () => {
  it.each([
    ['before', ['--data', '/d', '--json', 'project', 'list']],
    ['between', ['project', '--data=/d', 'list', '--json']],
    ['after', ['project', 'list', '--json', '--data', '/d']],
  ])('stand %s the command', async (_, argv) => {
    const world = testWorld({ projects: { list: () => [project] } })
    expect(await ballet(world, ...argv)).toBe(0)
    expect(world.connectedTo).toEqual(['/d'])
    expect(world.rows()).toEqual([project])
  })

  it('stand after options of the command', async () => {
    const { got, call } = recording(ticket)
    const world = testWorld({ tickets: { add: call } })
    const argv = ['--project', 'p', '--title', 't', '--json', '--body', 'b', '--data', '/d']
    expect(await ballet(world, 'ticket', 'add', ...argv)).toBe(0)
    expect(got).toEqual([expect.objectContaining({ project: 'p', title: 't', body: 'b' })])
    expect(world.connectedTo).toEqual(['/d'])
  })

  it('are text after --', async () => {
    const { got, call } = recording(input)
    const world = testWorld({ sessions: { send: call } })
    expect(await ballet(world, 'send', '--', 'SHOP-1', '--json')).toBe(0)
    expect(got).toEqual([expect.objectContaining({ text: '--json' })])
  })

  it('name the data folder, else the environment does, else it is the application’s own', async () => {
    const calls = { projects: { list: () => [] } }
    const named = testWorld(calls, { env: { BALLET_DATA: '/env' } })
    await ballet(named, 'project', 'list', '--data', 'here')
    await ballet(named, 'project', 'list')
    expect(named.connectedTo).toEqual(['/home/person/work/here', '/env'])
    const unnamed = testWorld(calls)
    await ballet(unnamed, 'project', 'list')
    expect(unnamed.connectedTo).toEqual(['/home/person/.config/ballet'])
  })
})

describe('what is not understood', () => {
  it.each([
    ['an unknown command', ['tickets'], 'usage.command', /unknown command 'tickets'/],
    [
      'an unknown command of a group',
      ['ticket', 'make'],
      'usage.command',
      /unknown command 'make'/,
    ],
    ['a group without a command', ['ticket'], 'usage.command', /needs a command/],
    ['nothing', [], 'usage.command', /needs a command/],
    ['an unknown option', ['agents', '--all'], 'usage.option', /unknown option '--all'/],
    ['a missing argument', ['send', 'SHOP-1'], 'usage.missing', /missing required argument 'text'/],
    ['one too many', ['agents', 'all'], 'usage.argument', /too many arguments/],
    ['a missing option', ['ticket', 'add', '--title', 't'], 'usage.missing', /--project/],
    ['an option without its value', ['project', 'list', '--data'], 'usage.missing', /--data/],
    [
      'a duration',
      ['project', 'add', '--name', 'n', '--repo', 'r', '--window', 'soon'],
      'usage.value',
      /not a duration/,
    ],
    [
      'a permission',
      ['project', 'add', '--name', 'n', '--repo', 'r', '--permission', 'all'],
      'usage.value',
      /ask, edits, full/,
    ],
    ['an empty name', ['project', 'add', '--name', ' ', '--repo', 'r'], 'usage.value', /name/],
    [
      'a variable',
      ['project', 'add', '--name', 'n', '--repo', 'r', '--env', 'A B=1'],
      'usage.value',
      /NAME=VALUE/,
    ],
    [
      'a priority',
      ['ticket', 'add', '--project', 'p', '--title', 't', '--priority', '9'],
      'usage.value',
      /9/,
    ],
    ['a number', ['session', 'events', 's', '--from', 'x'], 'usage.value', /not a whole number/],
    ['an id', ['send', 's', 'text', '--id', 'x'], 'usage.value', /UUID/],
    ['an empty text', ['send', 's', '  '], 'usage.value', /empty/],
    ['a number of agents', ['serve', '--agents', '0'], 'usage.value', /0/],
  ])('%s: exit 2, for people and for programs', async (_, argv, code, message) => {
    const people = testWorld({})
    expect(await ballet(people, ...argv)).toBe(2)
    expect(people.err()).toMatch(message)
    expect(people.out()).toBe('')
    const programs = testWorld({})
    expect(await ballet(programs, '--json', ...argv)).toBe(2)
    const { error } = JSON.parse(programs.err()) as { error: Refusal }
    expect(error).toEqual({
      code,
      message: expect.stringMatching(message),
      hint: expect.any(String),
    })
    expect(people.connectedTo).toEqual([])
  })

  it('shortens an argument of any length', async () => {
    const world = testWorld({})
    const title = 'x'.repeat(100_000)
    expect(await ballet(world, 'ticket', 'add', '--project', 'p', '--title', title)).toBe(2)
    expect(world.err().length).toBeLessThan(1_000)
    expect(world.err()).toMatch(/--title.*<=500/s)
  })

  it('counts what the host finds invalid among it', async () => {
    const world = testWorld({
      projects: {
        show: () => {
          throw new ORPCError('BAD_REQUEST', {
            data: { issues: [{ message: 'too long', path: ['ref'] }] },
          })
        },
      },
    })
    expect(await ballet(world, 'project', 'show', 'x', '--json')).toBe(2)
    expect(JSON.parse(world.err())).toEqual({
      error: { code: 'usage.value', message: 'ref: too long' },
    })
  })

  it('shows help everywhere, with exit 0', async () => {
    for (const argv of [
      ['--help'],
      ['ticket', '--help'],
      ['ticket', 'add', '--help'],
      ['help', 'send'],
    ]) {
      const world = testWorld(undefined)
      expect(await ballet(world, ...argv)).toBe(0)
      expect(world.out()).toContain('Usage: ballet')
    }
  })
})

describe('what is refused or fails', () => {
  const refusal = {
    code: 'ticket.not-found',
    message: 'There is no ticket X-1.',
    hint: 'List them.',
  }

  it('exits 1 with message and hint', async () => {
    const people = testWorld({ tickets: { show: refused(refusal) } })
    expect(await ballet(people, 'ticket', 'show', 'X-1')).toBe(1)
    expect(people.err()).toBe('ballet: There is no ticket X-1.\nList them.\n')
    const programs = testWorld({ tickets: { show: refused(refusal) } })
    expect(await ballet(programs, 'ticket', 'show', 'X-1', '--json')).toBe(1)
    expect(JSON.parse(programs.err())).toEqual({ error: refusal })
    expect(programs.out()).toBe('')
  })

  it('says that a host that went away may have done it', async () => {
    const gone = () => Promise.reject(new Error('Cannot send message, WebSocket is not open.'))
    const world = testWorld({ tickets: { show: gone } })
    expect(await ballet(world, 'ticket', 'show', 'X-1', '--json')).toBe(1)
    expect(JSON.parse(world.err())).toMatchObject({ error: { code: 'host.gone' } })
  })

  it('says that no host runs, where, and how to start one', async () => {
    const world = testWorld(undefined)
    expect(await ballet(world, 'agents', '--data', '/no host', '--json')).toBe(1)
    const { error } = JSON.parse(world.err()) as { error: Refusal }
    expect(error.code).toBe('host.not-running')
    expect(error.message).toContain('/no host')
    expect(error.hint).toContain("ballet serve --data '/no host'")
  })

  it.each([
    ['project', 'add', '--name', 'n', '--repo', 'r'],
    ['project', 'delete', 'p'],
    ['ticket', 'add', '--project', 'p', '--title', 't'],
    ['ticket', 'start', 't'],
    ['ticket', 'delete', 't'],
    ['session', 'stop', 's'],
    ['session', 'finish', 's'],
    ['send', 's', 'text'],
    ['interrupt', 's'],
    ['serve'],
    ['demo'],
  ])('refuses %s %s to what a session started', async (...argv) => {
    const world = testWorld({}, { env: { BALLET_SESSION: 'x:y' } })
    expect(await ballet(world, ...argv, '--json')).toBe(1)
    expect(JSON.parse(world.err())).toMatchObject({ error: { code: 'caller.session' } })
    expect(world.connectedTo).toEqual([])
  })

  it('lets a session look', async () => {
    const world = testWorld({ tickets: { list: () => [] } }, { env: { BALLET_SESSION: 'x:y' } })
    expect(await ballet(world, 'ticket', 'list')).toBe(0)
  })

  it('prints what agents wrote without escape sequences', async () => {
    const title = 'evil \u001b[2J\u001b]0;x\u0007 title\u202e'
    const world = testWorld({ tickets: { show: () => ({ ...ticket, title }) } })
    expect(await ballet(world, 'ticket', 'show', 'X-1')).toBe(0)
    expect(world.out()).toContain('evil  title')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    expect(world.out()).not.toMatch(/[\u001b\u0007\u202e]/)
  })
})

describe('doctor', () => {
  const report = {
    host: {
      contract: 1,
      version: '1',
      kind: 'headless',
      dataDir: '/d',
      pid: 1,
      agents: 1,
      startedAt: 'then',
    },
    git: { path: '/usr/bin/git', version: '2.39' },
    runtimes: [
      {
        runtime: 'claude-code',
        path: null,
        version: null,
        loggedIn: null,
        login: null,
        versions: { minimum: '2.1.197', tested: ['2.1.332'] },
        problem: { code: 'runtime.not-found', message: 'No claude.', hint: 'npm install it' },
        notice: null,
      },
      {
        runtime: 'codex',
        path: '/usr/bin/codex',
        version: '0.180.0',
        loggedIn: true,
        login: 'api_key',
        versions: { minimum: null, tested: ['0.170.0', '0.171.0'] },
        problem: null,
        notice: { code: 'runtime.newer', message: 'Codex is newer.', hint: '' },
      },
    ],
    storage: { file: '/d/ballet.sqlite', schemaVersion: 1, bytes: 4_096, freeBytes: null },
    problems: [] as Refusal[],
  }

  it('tells for each project how it stands with what it runs', async () => {
    const login = { loggedIn: false, login: null, problem: null }
    const projects = [
      { ...login, project: 'p1', name: 'Shop', loggedIn: true, login: 'api_key' },
      { ...login, project: 'p2', name: 'Blog' },
    ]
    const runtimes = report.runtimes.map((each) =>
      each.runtime === 'codex' ? { ...each, projects } : each,
    )
    const world = testWorld({ host: { doctor: () => ({ ...report, runtimes }) } })
    expect(await ballet(world, 'doctor')).toBe(0)
    expect(world.out()).toMatch(/PROJECT +RUNS WITH +LOGIN THERE/)
    expect(world.out()).toMatch(/Shop +codex +logged in by an API key/)
    expect(world.out()).toMatch(/Blog +codex +not logged in/)
  })

  it('does not say that something is missing where nobody could look', async () => {
    const unknown = { ...report, git: { path: null, version: null }, runtimes: [] }
    const world = testWorld({ host: { doctor: () => unknown } })
    expect(await ballet(world, 'doctor')).toBe(0)
    expect(world.out()).toMatch(/git +not known/)
    expect(world.out()).not.toContain('not found')
  })

  it('reports', async () => {
    const world = testWorld({ host: { doctor: () => report } })
    expect(await ballet(world, 'doctor')).toBe(0)
    expect(world.out()).toMatch(
      /claude-code +not found +2\.1\.332 \(from 2\.1\.197\) +npm install it/,
    )
    expect(world.out()).toMatch(
      /codex +0\.180\.0 +0\.170\.0, 0\.171\.0 +logged in by an API key +\/usr\/bin\/codex \(!\)/,
    )
    expect(world.out()).toContain('All is well.')
  })

  it('looks at this machine itself where no host runs, and says so', async () => {
    const { host: _, ...rest } = report
    const machine: MachineReport = {
      ...rest,
      ...{ host: null, version: '0.1.0', dataDir: '/data', storage: null, runtimes: [] },
      notes: [{ code: 'host.callers-unknown', message: 'There is no ss.', hint: 'Install it.' }],
    }
    const asked: string[] = []
    const host = {
      examineMachine: async ({ dataDir }: { dataDir: string }) => {
        asked.push(dataDir)
        return machine
      },
    }
    const world = testWorld(undefined, { host })
    expect(await ballet(world, 'doctor', '--data', '/data')).toBe(0)
    expect(asked).toEqual(['/data'])
    expect(world.out()).toMatch(/host +none runs/)
    expect(world.out()).toMatch(/database +none yet/)
    expect(world.out()).toContain('! There is no ss. Install it.')
    const programs = testWorld(undefined, { host })
    expect(await ballet(programs, 'doctor', '--json', '--data', '/data')).toBe(0)
    expect(programs.rows()).toEqual([machine])
  })

  it('shows large sizes in GiB', async () => {
    const storage = { ...report.storage, freeBytes: 80_728_000_000 }
    const world = testWorld({ host: { doctor: () => ({ ...report, storage }) } })
    expect(await ballet(world, 'doctor')).toBe(0)
    expect(world.out()).toMatch(/free there +75\.2 GiB/)
  })

  it('exits 1 with the first problem after the report', async () => {
    const problem = { code: 'runtime.missing', message: 'There is no claude.', hint: 'Install it.' }
    const world = testWorld({ host: { doctor: () => ({ ...report, problems: [problem] }) } })
    expect(await ballet(world, 'doctor', '--json')).toBe(1)
    expect(world.rows()).toEqual([{ ...report, problems: [problem] }])
    expect(JSON.parse(world.err())).toEqual({ error: problem })
    const people = testWorld({ host: { doctor: () => ({ ...report, problems: [problem] }) } })
    expect(await ballet(people, 'doctor')).toBe(1)
    expect(people.out()).toContain('There is no claude. Install it.')
    expect(people.err()).toBe('ballet: 1 problem found.\n')
  })
})
