import { lstat } from 'node:fs/promises'

/** Larger untracked files are not for the remote; bytes. */
const LARGE_BYTES = 20 * 1024 * 1024

const SECRET_NAME =
  /(^|\/)(\.env(\.[^/]+)?|\.envrc|[^/]+\.env|\.netrc|_netrc|\.pgpass|\.pypirc|\.npmrc|\.yarnrc\.yml|\.git-credentials|\.htpasswd|\.vault[-_]pass(word)?|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.(json|ya?ml|ini|toml))?|secrets?\.(json|ya?ml|toml|ini|txt|tfvars)|service[-_]account[^/]*\.json|kubeconfig|[^/]+\.(pem|key|p12|pfx|p8|ppk|jks|keystore|kdbx|ovpn|tfstate(\.backup)?)|[^/]+\.auto\.tfvars|terraform\.tfvars)$/i
const SECRET_FOLDER = /(^|\/)\.(aws|ssh|gnupg|kube|docker|azure)\//i
const SAMPLE_NAME = /\.(example|sample|template|dist|pub)$/i

/** In the eyes of some system such a part of a path is `.git`: git takes it into no index. */
const TAKEN_FOR_GIT = /(^|[/\\])(\.git|git~\d)[ .]*(:[^/\\]*)?([/\\]|$)/i
/** As a symbolic link git takes it into no index. */
const MODULES = /(^|[/\\])(\.gitmodules|gi[0-9a-f]{4,}~\d|gitmod~\d)[ .]*$/i
/** Letters that the file system of macOS overlooks, as UTF-8 in Latin-1. */
const OVERLOOKED = /\xe2(\x80[\x8c-\x8f\xaa-\xae]|\x81[\xaa-\xaf])|\xef\xbb\xbf/g

function isNoNameForGit(path: string, isLink: boolean): boolean {
  const seen = path.replace(OVERLOOKED, '')
  return TAKEN_FOR_GIT.test(seen) || (isLink && MODULES.test(seen))
}

/** Whether a file with this path may hold a secret, by its name alone. */
export function looksSecret(path: string): boolean {
  return (SECRET_NAME.test(path) || SECRET_FOLDER.test(path)) && !SAMPLE_NAME.test(path)
}

/** An untracked file that is not for the remote. */
export type AsideFile = {
  /** Its bytes as Latin-1, below the workspace. */
  path: string
  why: string
  bytes: number
}

/** Which of the untracked files, given as Latin-1, are not for the remote. Repositories end with a slash. */
export async function selectAside(cwd: string, untracked: readonly string[]): Promise<AsideFile[]> {
  const found: AsideFile[] = []
  for (const path of untracked) {
    const file = Buffer.concat([Buffer.from(`${cwd}/`), Buffer.from(path, 'latin1')])
    const info = await lstat(file).catch(() => null)
    const bytes = info?.size ?? 0
    if (path.endsWith('/')) found.push({ path, why: 'a repository of its own', bytes: 0 })
    else if (isNoNameForGit(path, info?.isSymbolicLink() ?? false))
      found.push({ path, why: 'git takes no file of that name', bytes })
    else if (looksSecret(path)) found.push({ path, why: 'looks like a secret', bytes })
    else if (bytes > LARGE_BYTES) found.push({ path, why: 'larger than 20 MB', bytes })
  }
  return found
}
