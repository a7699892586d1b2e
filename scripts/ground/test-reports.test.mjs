import { expect, it } from 'vitest'
import { readPlaywright, readVitest } from './test-reports.mjs'

it('reads Vitest’s report, with a file that did not load as a failure', () => {
  const report = {
    numPassedTests: 3,
    numFailedTests: 1,
    numPendingTests: 2,
    numTodoTests: 1,
    testResults: [
      { name: '/a/fine.test.ts', status: 'passed', assertionResults: [{ status: 'passed' }] },
      {
        name: '/a/room/thing.test.ts',
        status: 'failed',
        assertionResults: [
          { status: 'passed' },
          {
            status: 'failed',
            fullName: 'a thing does',
            failureMessages: [
              '\u001b[31mAssertionError\u001b[39m: 1 is not 2\n\n    at x.ts:1\n    at y (/a/node_modules/z.js:2)',
            ],
          },
        ],
      },
      { name: '/a/broken.test.ts', status: 'failed', assertionResults: [], message: 'no module' },
    ],
  }
  expect(readVitest(report, '/a')).toEqual({
    passed: 3,
    failed: 2,
    skipped: 3,
    failures: [
      'room/thing.test.ts › a thing does\n      AssertionError: 1 is not 2\n          at x.ts:1',
      'broken.test.ts\n      no module',
    ],
  })
})

it('reads Playwright’s report, with flaky tests and errors outside of tests as failures', () => {
  const failing = (/** @type {string} */ status, /** @type {string} */ message) => [
    { status, results: [{ errors: [{ message }] }, { errors: [] }] },
  ]
  const report = {
    stats: { expected: 4, unexpected: 1, flaky: 1, skipped: 2 },
    errors: [{ message: 'no display' }],
    suites: [
      {
        title: 'host/a.spec.ts',
        specs: [
          { title: 'is fine', file: 'host/a.spec.ts', line: 3, tests: [{ status: 'expected' }] },
          { title: 'is not', file: 'host/a.spec.ts', line: 9, tests: failing('unexpected', 'E') },
        ],
        suites: [
          {
            title: 'within',
            specs: [
              { title: 'wavers', file: 'host/a.spec.ts', line: 20, tests: failing('flaky', 'F') },
            ],
          },
        ],
      },
    ],
  }
  expect(readPlaywright(report)).toEqual({
    passed: 4,
    failed: 3,
    skipped: 2,
    failures: [
      'host/a.spec.ts:9 › is not\n      E',
      'host/a.spec.ts:20 › within › wavers\n      F',
      'outside of the tests\n      no display',
    ],
  })
})

it('cuts a long cause, and says by how much', () => {
  const message = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`).join('\n')
  const { failures } = readPlaywright({
    stats: { expected: 0, unexpected: 0, flaky: 0, skipped: 0 },
    errors: [{ message, location: { file: 'x.ts', line: 7 } }],
    suites: [],
  })
  const [first, ...lines] = failures[0]?.split('\n') ?? []
  expect(first).toBe('x.ts:7')
  expect(lines).toHaveLength(13)
  expect(lines.at(-1)).toContain('8 more lines above')
})
