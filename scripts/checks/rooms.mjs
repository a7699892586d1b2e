/**
 * What a room may depend on. Whatever is not named here is refused, type imports included.
 *
 * @typedef {object} Room
 * @property {Record<string, readonly string[] | 'all'>} rooms other rooms, and which of their files
 * @property {boolean} node whether it may use Node's own modules
 * @property {readonly string[]} packages
 * @property {Record<string, string>} [computed] files that load a program by a computed address, and why
 */

const SHARED = /** @type {const} */ ({ 'src-shared': 'all' })
/** The hosts say their version, which stands in package.json. */
const OF_A_HOST = /** @type {const} */ ({
  'src-shared': 'all',
  'src-core': ['index.ts'],
  'package.json': 'all',
})

/** @type {Record<string, Room>} */
export const ROOMS = {
  'src-shared': { rooms: {}, node: false, packages: ['zod', '@orpc/contract'] },
  'src-core': {
    rooms: SHARED,
    node: true,
    packages: ['zod', 'better-sqlite3', 'uuid', 'pino', 'ws', '@orpc/contract', '@orpc/server'],
  },
  'src-agent': {
    rooms: SHARED,
    node: true,
    packages: [
      'zod',
      'uuid',
      'tar-stream',
      'picomatch',
      'diff',
      '@modelcontextprotocol/sdk',
      '@agentclientprotocol/sdk',
    ],
    computed: {
      'runtimes/claude-code/testing/real-runtime.ts':
        'the scripted model server, for tests with the real runtime',
    },
  },
  'src-main': {
    rooms: OF_A_HOST,
    node: true,
    packages: ['electron', 'zod', '@orpc/server', '@jellybrick/dbus-next'],
  },
  'src-server': {
    rooms: OF_A_HOST,
    node: true,
    packages: [],
  },
  'src-renderer': {
    rooms: SHARED,
    node: false,
    packages: [
      'react',
      'react-dom',
      'react-markdown',
      'remark-gfm',
      'remend',
      'shiki',
      'cmdk',
      'zustand',
      'uuid',
      'zod',
      '@base-ui/react',
      '@tanstack/react-virtual',
      '@orpc/client',
      '@orpc/contract',
    ],
  },
  'src-cli': {
    rooms: { ...SHARED, 'package.json': 'all' },
    node: true,
    packages: ['commander', 'string-width', 'uuid', 'ws', 'zod', '@orpc/client', '@orpc/contract'],
    computed: {
      'real-world.ts': 'the headless host, a program of its own, for the commands that run one',
    },
  },
  e2e: {
    rooms: { ...SHARED, 'package.json': 'all' },
    node: true,
    packages: [
      '@playwright/test',
      '@axe-core/playwright',
      '@jellybrick/dbus-next',
      'better-sqlite3',
      'uuid',
      'zod',
      'ws',
      '@orpc/client',
      '@orpc/contract',
    ],
  },
  bench: {
    rooms: {
      ...SHARED,
      e2e: 'all',
      // The port with its worker, and rows to fill it with.
      'src-core': ['storage/port.ts', 'storage/sqlite/client.ts', 'storage/test-samples.ts'],
    },
    node: true,
    packages: ['@playwright/test', 'uuid', 'ws'],
  },
}

/** What every test may use beside what its room may. */
export const TEST_PACKAGES = ['vitest', 'vite', '@orpc/server']
/** Rooms that only tests may reach into. */
export const TEST_ROOMS = /** @type {const} */ ({ e2e: 'all' })
