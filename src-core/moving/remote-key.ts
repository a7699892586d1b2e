/**
 * What two addresses of one remote have in common: host and path, without the way to get there, a user, a password, a
 * usual port or `.git`. Of a path on this machine: the path.
 */
export function remoteKey(repo: string): string {
  const bare = repo
    .trim()
    .replace(/\/+$/, '')
    .replace(/\.git$/i, '')
  const url = /^([a-z][a-z0-9+.-]*):\/\/(?:[^@/]*@)?([^/]*)(\/.*)?$/i.exec(bare)
  if (url !== null) {
    const [, scheme = '', host = '', path = ''] = url
    if (scheme.toLowerCase() === 'file') return path
    return `${host.toLowerCase().replace(/:(22|80|443|9418)$/, '')}${path}`
  }
  const scp = /^(?:[^@/\\]*@)?([^:/\\]{2,}):(?!\/\/)(.*)$/.exec(bare)
  if (scp === null) return bare
  const [, host = '', path = ''] = scp
  return `${host.toLowerCase()}/${path.replace(/^\/+/, '')}`
}
