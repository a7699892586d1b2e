import { basename, resolve } from 'node:path'
import { IMAGE_LIMITS, type SentImage } from '../src-shared/contract.ts'
import { UsageError } from './failures.ts'
import type { World } from './world.ts'

/** By the first bytes, in hexadecimal. */
const TYPES: readonly (readonly [RegExp, SentImage['mediaType']])[] = [
  [/^89504e470d0a1a0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^47494638(?:37|39)61/, 'image/gif'],
  [/^52494646.{8}57454250/, 'image/webp'],
]

/** Reads image files for a message. Rejects with `UsageError` for what is no image, too large or too many. */
export async function readImages(
  world: Pick<World, 'readFile' | 'cwd'>,
  files: readonly string[],
): Promise<SentImage[]> {
  if (files.length > IMAGE_LIMITS.count) {
    throw wrong(
      `A message may have ${IMAGE_LIMITS.count} images at most, not ${files.length}.`,
      'Send several messages.',
    )
  }
  const images: SentImage[] = []
  let all = 0
  for (const file of files) {
    const bytes = await readImage(world, file)
    all += bytes.length
    if (bytes.length > IMAGE_LIMITS.bytes || all > IMAGE_LIMITS.allBytes) {
      const [what, most] =
        bytes.length > IMAGE_LIMITS.bytes
          ? [`The image ${basename(file)}`, IMAGE_LIMITS.bytes]
          : ['The images together', IMAGE_LIMITS.allBytes]
      throw wrong(
        `${what} may have ${most / 1_000_000} MB at most.`,
        'Make them smaller, or send several messages.',
      )
    }
    const head = bytes.toString('hex', 0, 12)
    const found = TYPES.find(([beginning]) => beginning.test(head))
    if (found === undefined) {
      throw wrong(`${file} is no image of a known type.`, 'Use PNG, JPEG, GIF or WebP.')
    }
    images.push({ mediaType: found[1], data: bytes.toString('base64') })
  }
  return images
}

async function readImage(world: Pick<World, 'readFile' | 'cwd'>, file: string): Promise<Buffer> {
  try {
    return Buffer.from(await world.readFile(resolve(world.cwd, file)))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw wrong(`The image ${file} cannot be read: ${why}`, 'Check the path.')
  }
}

function wrong(message: string, hint: string): UsageError {
  return new UsageError({ code: 'usage.value', message, hint })
}
