import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { protocol, session } from 'electron'
import { fileOf, HOST, REFUSAL_PAGE, SCHEME } from './addresses.ts'

/**
 * Nothing but the application's own files. Inline style attributes are allowed, since highlighted code carries its
 * colours in them; no script is.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

/** Before the application is ready. */
export function claimScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ])
}

/** Serves the built window and the page of refusals, and nothing else. */
export function servePages(folder: string, refusalPage: () => string): void {
  session.defaultSession.protocol.handle(SCHEME, async (request) => {
    const url = new URL(request.url)
    if (request.method !== 'GET' || url.host !== HOST) return empty(404)
    if (request.url === REFUSAL_PAGE) return page(refusalPage(), '.html')
    const file = fileOf(folder, url.pathname)
    if (file === undefined) return empty(404)
    try {
      return page(await readFile(file), extname(file))
    } catch {
      return empty(404)
    }
  })
}

function page(content: string | Buffer<ArrayBuffer>, extension: string): Response {
  const type = TYPES[extension]
  if (type === undefined) return empty(404)
  return new Response(content, {
    headers: {
      'content-type': type,
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    },
  })
}

function empty(status: number): Response {
  return new Response(null, { status })
}
