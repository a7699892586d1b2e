/**
 * Variables with which opencode asks nothing over the network but the model, and nothing of the repository or of another
 * program configures it. Its own plugins stay: the logins of GitHub Copilot, ChatGPT and others are among them.
 */
export const QUIET: Readonly<Record<string, string>> = {
  OPENCODE_DISABLE_PROJECT_CONFIG: '1',
  OPENCODE_DISABLE_CLAUDE_CODE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_SHARE: '1',
  OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  // Else it installs a package of its own into the user's configuration folder. What it starts inherits this: the
  // guard takes it out once the install was tried.
  npm_config_offline: 'true',
}
