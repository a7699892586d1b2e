/** Names that reach git, setup commands and runtimes from the person's own environment. */
const NAMES = new Set(
  `
  PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR
  SSH_AUTH_SOCK SSH_AGENT_PID GNUPGHOME GPG_AGENT_INFO KRB5CCNAME DBUS_SESSION_BUS_ADDRESS
  http_proxy https_proxy ftp_proxy all_proxy no_proxy
  HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
  NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
  GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
  GIT_SSH GIT_SSH_COMMAND GIT_SSL_CAINFO GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM
  ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL ANTHROPIC_CUSTOM_HEADERS
  ANTHROPIC_MODEL ANTHROPIC_SMALL_FAST_MODEL
  CLAUDE_CONFIG_DIR CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_TMPDIR
  DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER
  API_TIMEOUT_MS IS_SANDBOX
  CODEX_HOME CODEX_API_KEY OPENAI_API_KEY OPENAI_BASE_URL OPENCODE_CONFIG OPENCODE_CONFIG_DIR GEMINI_API_KEY
  `
    .trim()
    .split(/\s+/),
)

const PATTERNS = [
  /^LC_[A-Z]+$/,
  /^XDG_[A-Z_]+$/,
  /^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)$/,
  /^ANTHROPIC_DEFAULT_[A-Z]+_MODEL$/,
]

/** Only where the runtime is told to reach its model through that cloud. */
const CLOUDS: Record<string, RegExp> = {
  CLAUDE_CODE_USE_BEDROCK:
    /^(AWS_[A-Z_]+|ANTHROPIC_BEDROCK_BASE_URL|CLAUDE_CODE_SKIP_BEDROCK_AUTH)$/,
  CLAUDE_CODE_USE_VERTEX:
    /^(GOOGLE_[A-Z_]+|GCLOUD_PROJECT|CLOUD_ML_REGION|VERTEX_REGION_[A-Z0-9_]+|ANTHROPIC_VERTEX_[A-Z_]+|CLAUDE_CODE_SKIP_VERTEX_AUTH)$/,
}

/** Without these hardly a program starts on Windows, where names have no case. */
const WINDOWS = new Set(
  `
  PATH PATHEXT SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC OS TEMP TMP USERPROFILE USERNAME USERDOMAIN
  HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PROGRAMFILES PROGRAMFILES(X86)
  PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE
  `
    .trim()
    .split(/\s+/),
)

/** Ballet's own variables, the mark of a session above all, never pass, whoever asks for them. */
const isOwn = (name: string): boolean => name.toUpperCase().startsWith('BALLET_')

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The whole environment that git, setup commands and runtimes get, before project and session add theirs:
 * what is named here and in the setting `passEnv`, and nothing else.
 */
export function selectEnvironment(
  from: Environment,
  passEnv: readonly string[],
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  const isNamed = (name: string): boolean => {
    if (NAMES.has(name) || passEnv.includes(name)) return true
    if (platform === 'win32' && WINDOWS.has(name.toUpperCase())) return true
    if (PATTERNS.some((pattern) => pattern.test(name))) return true
    return Object.entries(CLOUDS).some(
      ([cloud, pattern]) => isOn(from[cloud]) && pattern.test(name),
    )
  }
  const selected: Record<string, string> = {}
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && isNamed(name) && !isOwn(name)) selected[name] = value
  }
  // Nobody looks at a terminal there.
  selected.TERM = 'dumb'
  return selected
}

const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && value !== '0' && value !== 'false'
