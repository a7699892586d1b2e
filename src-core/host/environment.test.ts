import { describe, expect, it } from 'vitest'
import { selectEnvironment } from './environment.ts'

describe('the environment of git, setup commands and runtimes', () => {
  it('has what is named and nothing else', () => {
    const passed = {
      PATH: '/bin',
      HOME: '/home/a',
      LC_ALL: 'C.UTF-8',
      XDG_RUNTIME_DIR: '/run/user/1',
      SSH_AUTH_SOCK: '/tmp/agent',
      https_proxy: 'http://proxy',
      NODE_EXTRA_CA_CERTS: '/ca.pem',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'a.b',
      GIT_CONFIG_VALUE_0: 'c',
      GIT_AUTHOR_NAME: 'A',
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
      CLAUDE_CONFIG_DIR: '/home/a/.claude',
      CODEX_HOME: '/home/a/.codex',
      OPENAI_API_KEY: 'key',
      OPENCODE_CONFIG: '/home/a/opencode.json',
      IS_SANDBOX: '1',
    }
    const kept = {
      DATABASE_PASSWORD: 'x',
      NODE_OPTIONS: '--inspect',
      ELECTRON_RUN_AS_NODE: '1',
      GIT_DIR: '/elsewhere',
      GIT_ASKPASS: 'window',
      EDITOR: 'vi',
      AWS_SECRET_ACCESS_KEY: 'x',
      CLAUDE_CODE_USE_BEDROCK: '0',
      CLAUDECODE: '1',
      EMPTY: undefined,
    }
    expect(selectEnvironment({ ...passed, ...kept, TERM: 'xterm' }, [], 'linux')).toEqual({
      ...passed,
      CLAUDE_CODE_USE_BEDROCK: '0',
      TERM: 'dumb',
    })
  })

  it('has what the setting names, but never a mark of Ballet', () => {
    const env = { EDITOR: 'vi', BALLET_SESSION: 'a:b', BALLET_DATA: '/d', ballet_session: 'x' }
    expect(selectEnvironment(env, Object.keys(env), 'linux')).toEqual({
      EDITOR: 'vi',
      TERM: 'dumb',
    })
  })

  it('has the keys of a cloud only where the runtime uses it', () => {
    const env = {
      AWS_REGION: 'eu-1',
      AWS_SECRET_ACCESS_KEY: 'x',
      GOOGLE_APPLICATION_CREDENTIALS: '/g.json',
      CLOUD_ML_REGION: 'eu',
    }
    expect(Object.keys(selectEnvironment(env, [], 'linux'))).toEqual(['TERM'])
    expect(selectEnvironment({ ...env, CLAUDE_CODE_USE_BEDROCK: '1' }, [], 'linux')).toMatchObject({
      AWS_REGION: 'eu-1',
      AWS_SECRET_ACCESS_KEY: 'x',
    })
    const vertex = selectEnvironment({ ...env, CLAUDE_CODE_USE_VERTEX: 'true' }, [], 'linux')
    expect(vertex).toMatchObject({ CLOUD_ML_REGION: 'eu' })
    expect(vertex).not.toHaveProperty('AWS_REGION')
  })

  it('has what programs need on Windows, however it is written', () => {
    expect(
      selectEnvironment({ Path: 'C:\\', SystemRoot: 'C:\\Windows', Other: 'x' }, [], 'win32'),
    ).toEqual({ Path: 'C:\\', SystemRoot: 'C:\\Windows', TERM: 'dumb' })
    expect(selectEnvironment({ Path: '/x' }, [], 'linux')).toEqual({ TERM: 'dumb' })
  })
})
