import { encodeScript, type Step } from '../model/script.ts'

/** A script for the model, to be put into a text; encoded, so that a search for its words finds only what it made. */
export function script(...steps: Step[]): string {
  return encodeScript(steps)
}

export function bash(command: string, text?: string): Step {
  return { tool: 'Bash', input: { command }, ...(text === undefined ? {} : { text }) }
}

export function write(file: string, content: string, text?: string): Step {
  return {
    tool: 'Write',
    input: { file_path: `{{cwd}}/${file}`, content },
    ...(text === undefined ? {} : { text }),
  }
}

export function say(text: string): Step {
  return { text }
}

/** A tool that runs until a file is there (at most 110 s: then the runtimes end it themselves). */
export function untilFile(file: string): string {
  return `for i in $(seq 2200); do [ -e '${file}' ] && break; sleep 0.05; done`
}
