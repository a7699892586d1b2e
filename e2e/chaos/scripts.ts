import type { Random } from '../blows/random.ts'
import { fileName, randomStep, stream, writeFile } from '../blows/scripts.ts'
import type { Step } from '../model/script.ts'
import { ask } from '../support/asking.ts'
import { bash, say, script } from '../support/steps.ts'

/** A short turn that leaves work of every kind, or asks something. */
export function workingScript(random: Random, word: (kind: string) => string): string {
  const steps: Step[] = []
  const count = random.whole(0, 2)
  for (let index = 0; index < count; index += 1) steps.push(workStep(random, word))
  if (random.chance(0.35)) {
    const question = `${word('question')} Which one?`
    steps.push(ask({ question, options: [{ label: 'This' }, { label: 'That' }] }))
  }
  steps.push(random.chance(0.3) ? stream(random, word('text')) : say(`${word('text')} Done.`))
  return script(...steps)
}

function workStep(random: Random, word: (kind: string) => string): Step {
  const kind = random.weighted({ work: 5, write: 3, any: 2 })
  if (kind === 'work') return bash(workWith(fileName(word('work')), random))
  if (kind === 'write') return writeFile(word('file'))
  return randomStep(random, word)
}

/** One of the things that a snapshot has to hold, at a path of its own. */
function workWith(file: string, random: Random): string {
  const kind = random.weighted({
    staged: 3,
    untracked: 2,
    renamed: 1,
    deleted: 1,
    intended: 1,
    committed: 2,
    branch: 1,
    folder: 1,
    binary: 1,
    program: 1,
    link: 1,
    secret: 1,
    name: 1,
  })
  switch (kind) {
    case 'staged':
      return `echo staged > ${file} && git add ${file} && echo changed again >> ${file}`
    case 'untracked':
      return `echo new > ${file}`
    case 'renamed':
      return `git mv README.md ${file} || echo gone`
    case 'deleted':
      return `echo a > ${file} && git add ${file} && git commit -q -m ${file} && rm ${file}`
    case 'intended':
      return `echo intended > ${file} && git add -N ${file}`
    case 'committed':
      return `echo a > ${file} && git add ${file} && git commit -q -m ${file}`
    case 'branch':
      return `git branch side-${file} 2>&1`
    case 'folder':
      return `mkdir -p empty-${file}/below`
    case 'binary':
      return `head -c 70000 /dev/urandom > ${file}`
    case 'program':
      return `printf '#!/bin/sh\\n' > ${file} && chmod +x ${file} && : > empty-${file}`
    case 'link':
      return `ln -s README.md ${file}`
    case 'secret':
      return `mkdir -p ${file}.d && echo KEY=${file} > ${file}.d/.env`
    case 'name':
      return `printf x > "$(printf '${file} \\001\\377\\n.bin')"`
  }
}
