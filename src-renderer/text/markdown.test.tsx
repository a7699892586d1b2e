import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { chunksOf } from './chunks.ts'
import { MarkdownChunk, safeLink } from './markdown.tsx'

const html = (text: string, live = false) =>
  renderToStaticMarkup(
    chunksOf(text).map((chunk) => <MarkdownChunk key={chunk.text} chunk={chunk} live={live} />),
  )

describe('Markdown of an agent', () => {
  it('shows HTML as text and makes no element of it', () => {
    const out = html(
      '<script>alert(1)</script>\n\nBefore <img src=x onerror=alert(1)> <b>after</b>',
    )
    expect(out).not.toMatch(/<(script|img|b)\b/)
    expect(out).toContain('&lt;script&gt;')
    expect(out).toContain('onerror')
  })

  it('loads no image, and offers it as a link', () => {
    const out = html('![the plan](https://example.com/pixel.png)')
    expect(out).not.toContain('<img')
    expect(out).toContain('Image: the plan')
    expect(out).toContain('href="https://example.com/pixel.png"')
  })

  it('links only to where a window may send somebody', () => {
    const out = html(
      '[a](javascript:alert(1)) [b](file:///etc/passwd) [c](data:text/html,x) [d](vbscript:x) [e](https://ok.example) [f](mailto:a@b.example) [g](/etc/passwd) [h](JaVaScRiPt:alert(1))',
    )
    expect([...out.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      'https://ok.example',
      'mailto:a@b.example',
    ])
    expect(safeLink('//evil.example')).toBe('')
    expect(safeLink(' https://ok.example ')).toBe('https://ok.example')
  })

  it('makes no link of a reference or an autolink to elsewhere', () => {
    const out = html('<javascript:alert(1)> and [x][y]\n\n[y]: javascript:alert(1)')
    expect(out).not.toContain('href')
  })

  it('shows characters that change the direction of reading', () => {
    expect(html('safe \u202Eexe.txt')).toContain('⟨U+202E⟩')
    expect(html('```\n\u202E\n```')).toContain('⟨U+202E⟩')
  })

  it('closes what is open while it is written', () => {
    expect(html('This is **bo', true)).toContain('<strong>bo</strong>')
    expect(html('See [the do', true)).not.toContain('href')
    expect(html('A `co', true)).toContain('<code>co</code>')
  })

  it('draws only the beginning of a long table and of long code', () => {
    const table = ['| a |', '| - |', ...Array.from({ length: 2_000 }, (_, at) => `| r${at} |`)]
    const out = html(table.join('\n'))
    expect(out.match(/<tr/g)?.length).toBeLessThan(60)
    expect(out).toContain('2,000 rows')
    const code = html(`\`\`\`\n${'line\n'.repeat(5_000)}\`\`\``)
    expect(code.length).toBeLessThan(5_000)
    expect(code).toContain('Show all 5,000 lines')
  })

  it('has its headings below those of the turns', () => {
    expect(html('# One\n\n## Two\n\n#### Four')).not.toMatch(/<h[123]/)
  })
})
