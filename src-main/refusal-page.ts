import type { Refusal } from '../src-shared/refusal.ts'
import { PAGE_ACTIONS } from './addresses.ts'

/** All of the page's style element: the page's policy allows exactly this text. */
export const REFUSAL_STYLE = `
:root { color-scheme: light dark; font: 14px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; background: Canvas; color: CanvasText; }
main { max-width: 36rem; padding: 2rem; }
h1 { font-size: 1.25rem; margin: 0 0 1rem; }
p { margin: 0 0 0.75rem; overflow-wrap: anywhere; }
dl { margin: 1.25rem 0; font-size: 0.85rem; opacity: 0.75; display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dd { margin: 0; overflow-wrap: anywhere; user-select: text; }
nav { display: flex; gap: 1rem; }
`

/** Why the host could not start, or ended, and what to do, as a page without scripts. */
export function describeRefusal(refusal: Refusal, dataDir: string, hasRun: boolean): string {
  const title = hasRun ? 'Ballet had to stop' : 'Ballet cannot start'
  const state = hasRun
    ? 'What was shown as done is stored. Sessions go on at the next start.'
    : 'Nothing was changed.'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<style>${REFUSAL_STYLE}</style>
</head>
<body>
<main role="alert">
<h1>${title}</h1>
<p>${escaped(refusal.message)}</p>
${refusal.hint === undefined ? '' : `<p>${escaped(refusal.hint)}</p>`}
<dl>
<dt>Data folder</dt><dd>${escaped(dataDir)}</dd>
<dt>Code</dt><dd>${escaped(refusal.code)}</dd>
</dl>
<p>${state}</p>
<nav>
<a href="${PAGE_ACTIONS.retry}" autofocus>Try again</a>
<a href="${PAGE_ACTIONS.folder}">Show the data folder</a>
<a href="${PAGE_ACTIONS.quit}">Quit</a>
</nav>
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
