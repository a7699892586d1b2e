import type { NamedScript, ScriptBook, Step } from '../model/script.ts'
import type { RemoteFiles } from '../support/git-remote.ts'

/** The repository, the tickets and the model's answers that the pictures show. */

const STORAGE = `import { emptyCart, parse } from './cart.js'

export const KEY = 'cart/2'
export const OLD_KEY = 'cart'

export function load() {
  return parse(localStorage.getItem(KEY))
}

export function save(cart) {
  localStorage.setItem(KEY, JSON.stringify(cart))
}

export { emptyCart }
`

const TEST = `const cases = [
  'an empty cart is an empty cart',
  'loads a cart saved under the new key',
  'loads a cart saved under the old key',
  'the new key wins over the old one',
  'saving removes the old key',
  'a damaged cart is an empty cart',
]
for (const name of cases) console.log('✓ cart > ' + name)
console.log(cases.length + ' passed')
`

const DECISION = `# 4. Few dependencies

## Context

The shop's bundle has a budget of 180 kB. Every package that is added stays.

## Decision

Prefer the platform over packages. A package is taken when it saves more
than a hundred lines of our own, and when its size is named in the ticket.

Mails are written in the language of the customer, always.
`

export const files: RemoteFiles = {
  'README.md': '# shop\n\nA small shop.\n',
  'src/cart/storage.js': STORAGE,
  'src/format/date.js':
    "import { pad } from './pad.js'\n\nexport const day = (at) => pad(at.getDate())\n",
  'test/cart.js': TEST,
  'CHANGELOG.md': '# Changes\n',
  'docs/decisions/0004.md': DECISION,
}

const todos = (...states: ('pending' | 'in_progress' | 'completed')[]) => ({
  name: 'TodoWrite',
  optional: true,
  input: {
    todos: [
      'Find where the cart is kept',
      'Read the old key once, write the new one',
      'Test loading and saving',
      'Note it in the changelog',
    ].map((content, at) => ({ content, activeForm: content, status: states[at] ?? 'pending' })),
  },
})

const read = (file: string) => ({ name: 'Read', input: { file_path: `{{cwd}}/${file}` } })
const run = (command: string, description: string) => ({
  name: 'Bash',
  input: { command, description },
})
const edit = (file: string, before: string, after: string) => ({
  name: 'Edit',
  input: { file_path: `{{cwd}}/${file}`, old_string: before, new_string: after },
})

const SUMMARY = `A cart that was saved under the old key is **kept** now:

1. \`load()\` falls back to the old key when the new one is empty.
2. \`save()\` removes the old key, so that the fallback runs once a visitor.

| case | before | after |
| --- | --- | --- |
| no cart | empty | empty |
| only the old key | lost | kept |
| both keys | old | **new** |

\`\`\`js
export function load() {
  const saved = localStorage.getItem(KEY) ?? localStorage.getItem(OLD_KEY)
  return saved === null ? emptyCart() : parse(saved)
}
\`\`\``

const cart: Step[] = [
  {
    thinking:
      'The cart is written under a new key since the last release; the old one is not read.',
    text: 'I look for the place where the cart is kept.',
    tools: [todos('in_progress'), read('src/cart/storage.js')],
  },
  {
    text: 'The new key is the only one that is read. I read the old key once and write the new one, so that an open cart is not lost.',
    tools: [
      edit(
        'src/cart/storage.js',
        '  return parse(localStorage.getItem(KEY))\n',
        '  const saved = localStorage.getItem(KEY) ?? localStorage.getItem(OLD_KEY)\n  return saved === null ? emptyCart() : parse(saved)\n',
      ),
      edit(
        'src/cart/storage.js',
        '  localStorage.setItem(KEY, JSON.stringify(cart))\n',
        '  localStorage.setItem(KEY, JSON.stringify(cart))\n  // The old key is read for one more release.\n  localStorage.removeItem(OLD_KEY)\n',
      ),
    ],
  },
  {
    tools: [
      todos('completed', 'completed', 'in_progress'),
      run('node test/cart.js', 'Test the cart'),
    ],
  },
  { text: SUMMARY, tools: [todos('completed', 'completed', 'completed', 'in_progress')] },
  { text: 'The change is tested; the changelog is next.' },
]

const changelog: Step[] = [
  {
    text: 'I add the note, and then look at the checkout page, which reads the cart',
    chunks: 12,
    tools: [run('for i in $(seq 900); do sleep 0.2; done', 'Watch the checkout tests')],
  },
  { text: 'Done.' },
]

const dates: Step[] = [
  { text: 'Three places format dates by hand.', tools: [read('src/format/date.js')] },
  {
    text: 'One small library takes their place. It is not installed yet.',
    tools: [
      run(
        'npm install --save-exact date-fns@4.1.0 \\\n  && node test/cart.js',
        'Add the date library and run the tests of the cart',
      ),
    ],
  },
  {
    tools: [
      edit(
        'src/format/date.js',
        "import { pad } from './pad.js'\n\nexport const day = (at) => pad(at.getDate())\n",
        "import { format } from 'date-fns'\n\nexport const day = (at) => format(at, 'dd')\n",
      ),
    ],
  },
  { text: 'Dates are formatted in one place.' },
]

const limits: Step[] = [
  {
    text: 'The limit is counted by address. I look at how keys are known.',
    tools: [read('README.md')],
  },
  { tools: [run('for i in $(seq 900); do sleep 0.2; done', 'Run the load test')] },
  { text: 'Done.' },
]

const rounding: Step[] = [{ text: 'Rounded at the end of a line now, and not at each item.' }]

const tool = (name: string, input: Record<string, unknown>) => ({
  name: `mcp__ballet__${name}`,
  input,
})

const mails: Step[] = [
  {
    text: 'Three places format dates by hand: `src/format/date.js`, the mails and the cart. Before I replace them I need a decision or two.',
    tools: [
      tool('report_progress', { summary: 'The three places are found', done: 1, total: 4 }),
      tool('record_assumption', {
        assumption: 'Mails keep the date format that they have now.',
        reason: 'Customers search their mail for it, and nothing in the ticket asks for a change.',
        alternatives: ['one format everywhere', 'the format of the reader’s language'],
        reversible_by: 'one constant in `src/mail/render.js`',
      }),
      tool('ask_question', { question: 'In which language are mails written?' }),
      tool('ask_question', {
        question: 'Which library shall format dates?',
        context:
          'Used in **14 files**; the bundle budget of the shop is 180 kB, 171 kB are used. `src/format/date.js` holds what there is now.',
        options: [
          {
            label: 'Intl, no library',
            detail: '0 kB; relative times by hand, about 60 lines',
            recommended: true,
          },
          { label: 'date-fns', detail: '6 kB for what is used' },
          { label: 'Luxon', detail: '21 kB, over the budget' },
        ],
      }),
      tool('ask_question', {
        question: 'Which of the old formats must stay readable?',
        multiple: true,
        options: [
          { label: '`DD.MM.YYYY` in mails', detail: 'customers search for it' },
          { label: 'ISO dates in exports', detail: 'accounting imports them' },
          { label: 'Relative times in the cart' },
        ],
      }),
    ],
  },
  { text: 'I asked which library to take and which formats must stay; the rest is prepared.' },
]

/** What the planner's model says to a question, as JSON. */
const planned = (
  name: string,
  match: string,
  answer: string,
  ...quotes: string[]
): NamedScript => ({
  name,
  match,
  planner: true,
  steps: [
    {
      text: JSON.stringify({
        answer,
        citations: quotes.map((quote) => ({
          source: 'docs/decisions/0004.md',
          place: 'Decision',
          quote,
        })),
      }),
    },
  ],
})

/** As many questions as nobody likes to find. */
const many: Step[] = [
  {
    tools: [
      'Which header names the limit?',
      'Does a limit hold for an hour or for a day?',
      'What does a caller over the limit get?',
      'Are keys of the same customer counted together?',
      'Who may raise a limit?',
      'Is there a limit for reading?',
      'Where is the count kept when the cache is away?',
      'Do old keys get a limit?',
      'Is the dashboard part of this?',
      'Which calls cost more than one?',
      'Is a refused call counted?',
      'When is a customer told?',
    ].map((question, at) =>
      tool('ask_question', {
        question,
        urgency: at < 2 ? 'high' : at > 8 ? 'low' : 'normal',
        options: [{ label: 'As it is now', recommended: at % 3 === 0 }, { label: 'Otherwise' }],
      }),
    ),
  },
  { text: 'All of these change what callers see, so I ask first.' },
]

const scripts: NamedScript[] = [
  { name: 'cart', match: 'The cart is empty after a reload', steps: cart },
  { name: 'changelog', match: 'Keep the old key readable', steps: changelog },
  { name: 'dates', match: 'Dates are formatted by hand', steps: dates },
  { name: 'limits', match: 'Limits count by address', steps: limits },
  { name: 'mails', match: 'three kinds of dates', steps: mails },
  { name: 'many', match: 'Callers see their limit', steps: many },
  // A prompt names earlier questions too: the last one is looked for first.
  {
    name: 'formats',
    match: 'Which of the old formats',
    planner: true,
    steps: [{ text: '{"undecided": "No source names the formats."}' }],
  },
  planned(
    'library',
    'Which library shall format dates?',
    'Use `Intl`: the project prefers the platform over packages.',
    'Prefer the platform over packages. A package is taken when it saves more than a hundred lines',
    'Dates are formatted by Intl.',
  ),
  planned(
    'language',
    'In which language are mails written?',
    'In the language of the customer.',
    'Mails are written in the language of the customer, always.',
  ),
  { name: 'rounding', match: 'Totals differ by a cent', steps: rounding },
]

export const book: ScriptBook = { scripts, fallback: { text: 'Noted.' } }

export const tickets = {
  cart: {
    title: 'Cart survives reload',
    body: 'The cart is empty after a reload when it was saved before the last release.\n\n## Done when\n\n- a cart under the old key is shown\n- the old key is gone after the next change\n- `test/cart.js` covers both\n\nSee [the storage notes](https://example.com/notes).',
    priority: 2,
  },
  dates: {
    title: 'Choose a date library',
    body: 'Dates are formatted by hand in three places. Take one small library for all of them.',
    priority: 3,
  },
  limits: {
    title: 'Rate limits per key',
    body: 'Limits count by address; several customers share one. Count by API key.',
    priority: 3,
  },
  mails: {
    title: 'One way to write dates',
    body: 'Mails, exports and the cart show three kinds of dates. One is enough.',
    priority: 2,
  },
  many: {
    title: 'Show callers their limit',
    body: 'Callers see their limit in every answer, and what is left of it.',
    priority: 3,
  },
  rounding: {
    title: 'Round taxes once',
    body: 'Totals differ by a cent from the sum of the lines.',
    priority: 3,
  },
} as const

/** Tickets that nobody works on. */
export const later = [
  'Price filter',
  'Icons for payment methods',
  'Retry webhooks with backoff and say so in the dashboard',
  'Export orders to accounting, including cancelled ones',
]
