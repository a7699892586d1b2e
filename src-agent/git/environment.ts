/** The whole environment of one process. */
export type Environment = Readonly<Record<string, string>>

/** Variables by which a caller's git tells its children where they are: never meant for another repository. */
const PLACE_VARIABLES = new Set([
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_CONFIG',
  'GIT_CONFIG_COUNT',
  'GIT_CONFIG_PARAMETERS',
  'GIT_DIR',
  'GIT_GRAFT_FILE',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_INTERNAL_SUPER_PREFIX',
  'GIT_NAMESPACE',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_QUARANTINE_PATH',
  'GIT_REPLACE_REF_BASE',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
])

/**
 * The environment of a git that nobody watches: it speaks English, opens no editor and no pager, and asks for
 * nothing. ssh agents and credential helpers of the user work as in a terminal.
 */
export function gitEnvironment(given: Environment): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    if (PLACE_VARIABLES.has(name) || /^GIT_CONFIG_(KEY|VALUE)_\d+$/.test(name)) continue
    if (name.startsWith('BALLET_') || name === 'SSH_ASKPASS') continue
    env[name] = value
  }
  return {
    ...env,
    LC_ALL: 'C',
    LANGUAGE: '',
    GIT_TERMINAL_PROMPT: '0',
    // Set and empty: git then asks no helper program, not even the one that core.askPass names.
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_PAGER: 'cat',
    GIT_MERGE_AUTOEDIT: 'no',
    // A look at a workspace takes no lock that its agent may need.
    GIT_OPTIONAL_LOCKS: '0',
    // No clone of Ballet lacks objects on purpose: what is not there is fetched from nowhere.
    GIT_NO_LAZY_FETCH: '1',
    // Large files stay the pointers that the repository holds.
    GIT_LFS_SKIP_SMUDGE: '1',
  }
}

/** Whether the environment already says how git shall call ssh. */
export function namesSshCommand(env: Environment): boolean {
  return Boolean(env.GIT_SSH_COMMAND) || Boolean(env.GIT_SSH)
}

/** ssh that fails instead of asking for a password or about an unknown host. */
export const QUIET_SSH_COMMAND = 'ssh -o BatchMode=yes'
