import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { configFolder } from './launch.ts'

/** What of a user's settings says how a model is reached; the rest may allow, start or add anything. */
const ModelAccess = z.object({
  env: z.record(z.string(), z.string()).optional().catch(undefined),
  model: z.string().optional().catch(undefined),
  apiKeyHelper: z.string().optional().catch(undefined),
  awsAuthRefresh: z.string().optional().catch(undefined),
  awsCredentialExport: z.string().optional().catch(undefined),
  gcpAuthRefresh: z.string().optional().catch(undefined),
  forceLoginMethod: z.string().optional().catch(undefined),
  forceLoginOrgUUID: z.string().optional().catch(undefined),
})
export type ModelAccess = z.infer<typeof ModelAccess>

/** From the user's own settings; nothing where there are none that Claude Code would read either. */
export async function readModelAccess(env: Readonly<Record<string, string>>): Promise<ModelAccess> {
  try {
    return ModelAccess.parse(
      JSON.parse(await readFile(join(configFolder(env), 'settings.json'), 'utf8')),
    )
  } catch {
    return {}
  }
}
