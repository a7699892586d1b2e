import { join, normalize, sep } from 'node:path'

export const SCHEME = 'app'
export const HOST = 'ballet'
const ORIGIN = `${SCHEME}://${HOST}`
export const WINDOW_PAGE = `${ORIGIN}/index.html`
/** Says why the host could not start; made anew at each request. */
export const REFUSAL_PAGE = `${ORIGIN}/refusal`

/** What the links of the refusal's page ask of the main process; addresses that are never loaded. */
export const PAGE_ACTIONS = {
  retry: `${ORIGIN}/do/retry`,
  folder: `${ORIGIN}/do/show-folder`,
  quit: `${ORIGIN}/do/quit`,
} as const

const OPENABLE = new Set(['http:', 'https:', 'mailto:'])

/** Whether an address is one of the application's own pages. */
export function isOurs(address: string): boolean {
  return address === ORIGIN || address.startsWith(`${ORIGIN}/`)
}

/** Whether an address may be handed to the system's own programs. */
export function isOpenable(address: string): boolean {
  return URL.canParse(address) && OPENABLE.has(new URL(address).protocol)
}

/** The file below the folder that a path of an address means; undefined when it means none. */
export function fileOf(folder: string, pathname: string): string | undefined {
  let path: string
  try {
    path = decodeURIComponent(pathname)
  } catch {
    return undefined
  }
  if (path.includes('\0')) return undefined
  const file = normalize(join(folder, path === '/' ? 'index.html' : path))
  return file.startsWith(folder + sep) ? file : undefined
}
