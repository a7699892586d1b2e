import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { protocol, session } from 'electron'
import { fileOf, HOST, REFUSAL_PAGE, SCHEME } from './addresses.ts'
import { REFUSAL_STYLE } from './refusal-page.ts'

/** Nothing but the application's own files; styles too come from files, or are the one that is named. */
const policy = (styles: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const WINDOW_POLICY = policy("'self'")
const REFUSAL_POLICY = policy(
  `'sha256-${createHash('sha256').update(REFUSAL_STYLE).digest('base64')}'`,
)

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
    {
      scheme: SCHEME,
      privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true },
    },
  ])
}

/** Serves the built window and the page of refusals, and nothing else. */
export function servePages(folder: string, refusalPage: () => string): void {
  session.defaultSession.protocol.handle(SCHEME, async (request) => {
    const url = new URL(request.url)
    if (request.method !== 'GET' || url.host !== HOST) return empty(404)
    if (request.url === REFUSAL_PAGE) return page(refusalPage(), '.html', REFUSAL_POLICY)
    const file = fileOf(folder, url.pathname)
    if (file === undefined) return empty(404)
    try {
      return page(await readFile(file), extname(file))
    } catch {
      return empty(404)
    }
  })
}

function page(
  content: string | Buffer<ArrayBuffer>,
  extension: string,
  rules = WINDOW_POLICY,
): Response {
  const type = TYPES[extension]
  if (type === undefined) return empty(404)
  return new Response(content, {
    headers: {
      'content-type': type,
      'content-security-policy': rules,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    },
  })
}

function empty(status: number): Response {
  return new Response(null, { status })
}
