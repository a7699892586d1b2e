import { config } from 'zod/v4/core'

// The window's policy forbids code made from text, which zod would otherwise try. Imported before any schema.
config({ jitless: true })
