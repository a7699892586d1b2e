import { defineConfig } from 'vitest/config'

// Playwright's files are e2e/**/*.spec.ts; what ends in .test is a unit test and needs no built app.
export default defineConfig({
  test: {
    environment: 'node',
    include: [
      'src-*/**/*.test.{ts,tsx}',
      'scripts/**/*.test.mjs',
      'e2e/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
