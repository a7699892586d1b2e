import { defineConfig } from '@playwright/test'

export default defineConfig({
  testDir: '.',
  testMatch: '**/*.spec.ts',
  outputDir: '../test-results/e2e',
  // Most take seconds; a machine that is busy with something else must not make them fail.
  timeout: 150_000,
  expect: { timeout: 20_000 },
  // A test that passes only on the second try has found something.
  retries: 0,
  workers:
    process.env.BALLET_E2E_WORKERS === undefined ? 2 : Number(process.env.BALLET_E2E_WORKERS),
  fullyParallel: true,
  forbidOnly: process.env.CI !== undefined,
  reporter: [['list'], ['json', { outputFile: '../test-results/e2e.json' }]],
  use: { trace: 'retain-on-failure' },
})
