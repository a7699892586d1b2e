import { parseSync, Visitor } from 'oxc-parser'

/**
 * @typedef {object} Import
 * @property {string | undefined} source what is imported; `undefined` where only running it would tell
 * @property {number} line
 */

const REFERENCE = /^\/\s*<reference\s+(types|lib|path)=["']([^"']+)["']/

/**
 * Everything that a source file depends on: imports and re-exports, of values and of types, dynamic
 * imports, `import('x').Type`, `require`, and reference comments.
 *
 * @param {string} name decides the language by its ending
 * @param {string} text
 * @returns {Import[]}
 * @throws {Error} where the file does not parse
 */
export function importsOf(name, text) {
  const { program, comments, errors } = parseSync(name, text)
  const [error] = errors
  if (error) throw new Error(`${name} does not parse: ${error.message}`)

  /** @type {Import[]} */
  const found = []
  /** @param {number} offset */
  const lineOf = (offset) => text.slice(0, offset).split('\n').length
  /**
   * @param {any} source
   * @param {number} start
   */
  const add = (source, start) => {
    const literal = source?.type === 'Literal' && typeof source.value === 'string'
    found.push({ source: literal ? source.value : undefined, line: lineOf(start) })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source, node.start),
    ExportAllDeclaration: (node) => add(node.source, node.start),
    ExportNamedDeclaration: (node) => {
      if (node.source) add(node.source, node.start)
    },
    ImportExpression: (node) => add(node.source, node.start),
    TSImportType: (node) => add(node.source, node.start),
    TSExternalModuleReference: (node) => add(node.expression, node.start),
    CallExpression: (node) => {
      const { callee } = node
      // Also as bundlers write it, and as it is made in ES modules.
      const required =
        (callee.type === 'Identifier' && /^_*require$/.test(callee.name)) ||
        (callee.type === 'CallExpression' &&
          callee.callee.type === 'Identifier' &&
          callee.callee.name === 'createRequire')
      if (required) add(node.arguments[0], node.start)
    },
  }).visit(program)
  for (const comment of comments) {
    const [, kind, target] = REFERENCE.exec(comment.value) ?? []
    if (kind && target) {
      found.push({
        source: kind === 'types' ? target : `${kind}:${target}`,
        line: lineOf(comment.start),
      })
    }
  }
  return found
}
