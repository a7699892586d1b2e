import { createHighlighterCore, type HighlighterCore, type LanguageInput } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import dark from 'shiki/themes/github-dark-default.mjs'
import light from 'shiki/themes/github-light-default.mjs'
import type { HighlightAnswer, HighlightQuestion, Token } from './highlight.ts'

const LINE_LIMIT_MS = 5_000

/** Loaded when the first block in that language is shown. */
const languages: Record<string, () => Promise<{ default: LanguageInput }>> = {
  bash: () => import('shiki/langs/bash.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  jsx: () => import('shiki/langs/jsx.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  lua: () => import('shiki/langs/lua.mjs'),
  make: () => import('shiki/langs/make.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

const otherNames: Record<string, string> = {
  'c++': 'cpp',
  'c#': 'csharp',
  cjs: 'javascript',
  cs: 'csharp',
  cts: 'typescript',
  dockerfile: 'docker',
  golang: 'go',
  js: 'javascript',
  jsonc: 'json',
  kt: 'kotlin',
  makefile: 'make',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  patch: 'diff',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  sh: 'bash',
  shell: 'bash',
  svg: 'xml',
  ts: 'typescript',
  yml: 'yaml',
  zsh: 'bash',
}

let made: Promise<HighlighterCore> | undefined

function highlighter(): Promise<HighlighterCore> {
  // Written in JavaScript, not WebAssembly: the window's policy allows no compiled code.
  made ??= createHighlighterCore({
    themes: [light, dark],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  return made
}

async function highlight({ text, language }: HighlightQuestion): Promise<Token[][] | null> {
  const name = otherNames[language] ?? language
  const load = languages[name]
  if (load === undefined) return null
  const shiki = await highlighter()
  if (!shiki.getLoadedLanguages().includes(name)) await shiki.loadLanguage((await load()).default)
  const lines = shiki.codeToTokensWithThemes(text, {
    lang: name,
    themes: { light: 'github-light-default', dark: 'github-dark-default' },
    // A line over its limit keeps one colour to its end, and on a busy machine the first line takes long.
    tokenizeTimeLimit: LINE_LIMIT_MS,
  })
  return lines.map((line) =>
    line.map(({ content, variants }) => [
      content,
      variants.light?.color ?? '',
      variants.dark?.color ?? '',
    ]),
  )
}

self.addEventListener('message', (event: MessageEvent<HighlightQuestion>) => {
  const { id } = event.data
  highlight(event.data).then(
    (lines) => self.postMessage({ id, lines } satisfies HighlightAnswer),
    // A grammar that fails costs the colours of one block, nothing else.
    (error: unknown) =>
      self.postMessage({ id, lines: null, problem: String(error) } satisfies HighlightAnswer),
  )
})
