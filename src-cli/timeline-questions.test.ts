import { expect, it } from 'vitest'
import type { EventBody } from '../src-shared/timeline.ts'
import { assumption, question } from './test-world.ts'
import { describeEvent } from './timeline-text.ts'

const text = (event: EventBody): string =>
  describeEvent(event)
    .map((line) => line.text)
    .join('\n')

const asked = { question: question.id, key: question.key }

const citation = {
  source: 'docs/storage.md',
  place: 'Storage',
  quote: 'SQLite\nonly',
  verified: true,
  line: 7,
}

it('shows a question with its options and how to answer it', () => {
  expect(
    text({
      kind: 'question.asked',
      ...asked,
      text: question.question,
      context: 'The cart\nmust survive.',
      options: question.options,
      multiple: false,
      urgency: 'normal',
    }),
  ).toBe(
    [
      '? SHOP-1-Q2 Which database?',
      '  The cart',
      '  must survive.',
      '  1  SQLite (recommended): no server',
      '  2  Postgres',
      '  ballet answer SHOP-1-Q2',
    ].join('\n'),
  )
})

it('tells what the planner came to, with the passages, also those that are not there', () => {
  const planned = { kind: 'question.planned', ...asked, verified: false } as const
  expect(
    text({ ...planned, outcome: 'answered', citations: [citation], reason: '', durationMs: 4_200 }),
  ).toBe('  the planner answers SHOP-1-Q2 after 5s')
  expect(
    text({
      ...planned,
      outcome: 'draft',
      draft: 'SQLite',
      citations: [{ source: 'no.md', place: 'top', quote: 'x', verified: false }],
      reason: 'A quote is not in its source.',
    }),
  ).toBe(
    [
      '  the planner leaves SHOP-1-Q2 to a person: A quote is not in its source.',
      '  its draft: SQLite',
      '  no.md, top: “x” (not found there)',
    ].join('\n'),
  )
})

it('tells who answered, how, and what a correction replaced', () => {
  const answered: EventBody = {
    kind: 'question.answered',
    ...asked,
    text: 'SQLite',
    options: [1],
    citations: [],
    declined: false,
    author: 'person',
  }
  expect(text(answered)).toBe('✓ SHOP-1-Q2 answered by person: SQLite')
  expect(text({ ...answered, author: 'planner', citations: [citation] })).toBe(
    '✓ SHOP-1-Q2 answered by planner: SQLite\n  docs/storage.md:7, Storage: “SQLite only”',
  )
  expect(text({ ...answered, declined: true, text: 'Decide yourself.' })).toBe(
    '✓ SHOP-1-Q2 left to the agent by person: Decide yourself.',
  )
  expect(text({ ...answered, overturns: true, text: 'Postgres' })).toBe(
    '↺ SHOP-1-Q2 overturned by person: Postgres',
  )
  expect(text({ kind: 'question.withdrawn', ...asked, reason: 'The session is over.' })).toBe(
    '✗ SHOP-1-Q2 is withdrawn: The session is over.',
  )
})

it('shows assumptions, progress and the end of a stage, without escape sequences', () => {
  const { id } = assumption
  expect(
    text({
      kind: 'assumption',
      id,
      assumption: 'Prices are in \u001b[31meuro.',
      reason: 'The tests say so.',
      alternatives: [],
    }),
  ).toBe(
    `≈ assumes: Prices are in euro.\n  because: The tests say so.\n  ballet confirm|overturn ${id}`,
  )
  expect(
    text({
      kind: 'assumption.reviewed',
      id,
      assumption: 'Prices are in euro.',
      outcome: 'overturned',
      author: 'person',
      text: 'In dollars.',
    }),
  ).toBe('≈ overturned by person: In dollars.')
  expect(text({ kind: 'progress', summary: 'Tables', done: 3, total: 10 })).toBe('… 3/10 Tables')
  expect(
    text({ kind: 'stage.completed', summary: 'Done.\nChecked.', outcome: 'needs_review' }),
  ).toBe('── stage needs review: Done.\nChecked.')
})
