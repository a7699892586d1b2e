import '../../sync/without-jit.ts'
import { wordsOf } from '../../../src-shared/command-line.ts'
import { AcpAgent, AcpAgentName } from '../../../src-shared/runtimes.ts'

/** An agent of the Agent Client Protocol as it is typed. */
export type OwnAgentDraft = {
  name: string
  /** Empty: it is called by its name. */
  title: string
  /** Its command line, with quotes as in a shell. */
  line: string
}

export const emptyAgent: OwnAgentDraft = { name: '', title: '', line: '' }

/** What is wrong, by field; none when nothing is. */
export type WrongAgent = Partial<Record<keyof OwnAgentDraft, string>>

export function checkAgent({ name, line }: OwnAgentDraft): WrongAgent {
  const wrongName = nameProblem(name.trim())
  const wrongLine = lineProblem(line)
  return {
    ...(wrongName === null ? {} : { name: wrongName }),
    ...(wrongLine === null ? {} : { line: wrongLine }),
  }
}

function nameProblem(name: string): string | null {
  if (name === '') return 'It needs a name, such as my-agent.'
  if (AcpAgentName.safeParse(name).success) return null
  return `“${name.slice(0, 40)}” is no name: small letters, digits and -, 40 at most, a letter or a digit first.`
}

function lineProblem(line: string): string | null {
  const words = wordsOf(line)
  if (words === null) return 'A quote is not closed.'
  if ((words[0] ?? '').trim() === '')
    return 'It needs the command that starts it, such as my-agent --acp.'
  if (!AcpAgent.safeParse({ title: 'x', command: words[0], args: words.slice(1) }).success) {
    return 'It is too long, or has too many arguments.'
  }
  return null
}

/** What the settings are given; null while something is wrong. */
export function agentOf(draft: OwnAgentDraft): { name: string; agent: AcpAgent } | null {
  const [command, ...args] = wordsOf(draft.line) ?? []
  if (command === undefined || Object.keys(checkAgent(draft)).length > 0) return null
  const name = draft.name.trim()
  const title = draft.title.trim() === '' ? name : draft.title.trim()
  return { name, agent: { title, command, args } }
}
