import { createHash } from 'node:crypto'
import type { BlobText } from '../../src-shared/agent-wire.ts'
import { IMAGE_LIMITS, type SentImage } from '../../src-shared/contract.ts'
import { BlobId } from '../../src-shared/ids.ts'
import type { InputImage } from '../../src-shared/records.ts'
import { accept, type Result, refuse } from '../../src-shared/refusal.ts'
import {
  type AcpAgent,
  type RuntimeCapabilities,
  titleOfRuntime,
} from '../../src-shared/runtimes.ts'
import type { SessionRow } from '../storage/rows.ts'

/** An image as an input names it, and the blob that keeps it. */
export type CheckedImage = { image: InputImage; blob: BlobText }

const beginnings: Readonly<Record<InputImage['mediaType'], (bytes: Buffer) => boolean>> = {
  'image/png': (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  'image/jpeg': (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  'image/gif': (bytes) => /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)),
  'image/webp': (bytes) => /^RIFF.{4}WEBP$/s.test(bytes.toString('latin1', 0, 12)),
}

const megabytes = (bytes: number) => `${bytes / 1_000_000} MB`

/** Decodes the images of a message. Refused with `image.malformed`, `image.type` or `image.too-large`. */
export function checkImages(images: readonly SentImage[]): Result<CheckedImage[]> {
  const checked: CheckedImage[] = []
  let all = 0
  for (const [index, { mediaType, data }] of images.entries()) {
    const name = `Image ${index + 1} of the message`
    const bytes = Buffer.from(data, 'base64')
    if (bytes.length === 0 || bytes.toString('base64') !== data) {
      return refuse('image.malformed', `${name} is not base64.`, 'Attach the image again.')
    }
    if (!beginnings[mediaType](bytes)) {
      return refuse(
        'image.type',
        `${name} is not of the type ${mediaType}.`,
        'Use a PNG, JPEG, GIF or WebP image, under its own type.',
      )
    }
    all += bytes.length
    if (bytes.length > IMAGE_LIMITS.bytes || all > IMAGE_LIMITS.allBytes) {
      return refuse(
        'image.too-large',
        bytes.length > IMAGE_LIMITS.bytes
          ? `${name} has more than ${megabytes(IMAGE_LIMITS.bytes)}.`
          : `The images of the message have more than ${megabytes(IMAGE_LIMITS.allBytes)} together.`,
        'Make them smaller, or send several messages.',
      )
    }
    const id = BlobId.parse(createHash('sha256').update(data).digest('hex'))
    checked.push({
      image: { blob: id, mediaType, bytes: bytes.length },
      blob: { id, text: data },
    })
  }
  return accept(checked)
}

/** `capabilities`: undefined while no agent has told them. */
export function checkTakesImages(
  session: Pick<SessionRow, 'runtime' | 'continueWith'>,
  capabilities: RuntimeCapabilities | undefined,
  /** Those that the settings add. */
  agents: Readonly<Record<string, AcpAgent>>,
): Result<never> | null {
  const runtime = titleOfRuntime(session.continueWith?.runtime ?? session.runtime, agents)
  if (capabilities === undefined) {
    return refuse(
      'image.not-known',
      `Whether ${runtime} takes images is not known before the first agent is up.`,
      'Try again in a moment.',
    )
  }
  if (capabilities.images) return null
  return refuse('image.unsupported', `${runtime} takes no images.`, 'Send the text without them.')
}
