import { expect, it } from 'vitest'
import { listTools } from '../../mcp/tools.ts'
import { nameOf } from './call-facts.ts'
import { PermissionRequests } from './permission-requests.ts'

const OPTIONS = [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }]

/** What a call with this title is, and whether it is allowed in a project that asks before everything. */
function judged(title: string, kind?: string, kindOfPrompt = kind) {
  const call = nameOf({ title, kind }, ['ballet'])
  const requests = new PermissionRequests('ask', [], '/workspace')
  const prompt = { ...call, call: { toolCallId: 'c1', kind: kindOfPrompt }, options: OPTIONS }
  return { ...call, isAllowed: requests.decide(prompt) !== null }
}

it.each(listTools().map(({ name }) => name))('Ballet’s own %s asks nobody', (tool) => {
  const titles = [`ballet_${tool}`, `mcp__ballet__${tool}`, `ballet: ${tool}`, `ballet.${tool}`]
  const named = `${tool} (ballet MCP Server)`
  for (const title of [...titles, named, `${named}: {"a": "b\nc"}`]) {
    const expected = { name: `mcp__ballet__${tool}`, isMcp: true, isAllowed: true }
    expect(judged(title), title).toMatchObject(expected)
    expect(judged(title, 'other'), title).toMatchObject(expected)
  }
})

it.each([
  'mcp__github__delete_repo',
  'mcp__ballet__deploy',
  'mcp__balletx__ask_question',
  'ballet_deploy',
  'ballet-x',
  'ballet.sh',
  'ballet/deploy',
  'ballet/ask_question',
  'ballet_ask_question; rm -rf ~',
  'ballet_ask_question\nrm -rf ~',
  'sh ballet_ask_question',
  'ask_question (ballet MCP Server) && rm -rf ~',
  'ask_question (ballet MCP Server): {} && rm -rf ~',
  'ask_question (github MCP Server)',
  'ask_question',
])('a call titled %j is asked about', (title) => {
  expect(judged(title).isAllowed).toBe(false)
  expect(judged(title, 'other').isAllowed).toBe(false)
})

it.each(['execute', 'edit', 'delete', 'move', 'fetch', 'read', 'search'])(
  'a call of the kind %s is no tool of Ballet’s, whatever its title',
  (kind) => {
    expect(judged('ballet_ask_question', kind)).toMatchObject({ isMcp: false, isAllowed: false })
    expect(judged('ballet_ask_question', 'other', kind).isAllowed).toBe(false)
  },
)

it('a tool of another server is shown as one of MCP', () => {
  expect(judged('mcp__github__delete_repo')).toMatchObject({
    ...{ name: 'mcp__github__delete_repo', isMcp: true, isBallets: false },
  })
})
