import { v7 as uuidv7 } from 'uuid'
import '../../sync/without-jit.ts'
import { IMAGE_LIMITS } from '../../../src-shared/contract.ts'
import { InputImage } from '../../../src-shared/records.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { bytes, counted } from '../../ui/words.ts'

const MediaType = InputImage.shape.mediaType

/** An image that belongs to a message which is not sent yet; `data` is base64. */
export type DraftImage = {
  id: string
  name: string
  mediaType: InputImage['mediaType']
  bytes: number
  data: string
}

/** What is known of a file before it is read. */
type Candidate = Pick<File, 'name' | 'type' | 'size'>

const named = (file: Candidate) => (file.name === '' ? 'The image' : `“${file.name}”`)

function problemOf(file: Candidate, held: readonly { bytes: number }[]): Refusal | null {
  if (!MediaType.safeParse(file.type).success) {
    return {
      code: 'image.type',
      message: `${named(file)} is no image that can be sent (${file.type || 'no known type'}).`,
      hint: 'PNG, JPEG, GIF and WebP can be. Convert it, or put the file into the workspace and name it.',
    }
  }
  if (file.size === 0) {
    return { code: 'image.empty', message: `${named(file)} is empty.`, hint: 'Choose another.' }
  }
  if (file.size > IMAGE_LIMITS.bytes) {
    return {
      code: 'image.size',
      message: `${named(file)} has ${bytes(file.size)}; an image may have ${bytes(IMAGE_LIMITS.bytes)}.`,
      hint: 'Make it smaller, or cut out the part that matters.',
    }
  }
  if (held.length >= IMAGE_LIMITS.count) {
    return {
      code: 'image.count',
      message: `A message may have ${counted(IMAGE_LIMITS.count, 'image')}; ${named(file)} is one too many.`,
      hint: 'Send these first, or remove one.',
    }
  }
  const all = held.reduce((sum, image) => sum + image.bytes, file.size)
  if (all > IMAGE_LIMITS.allBytes) {
    return {
      code: 'image.size',
      message: `With ${named(file)} the images would have ${bytes(all)}; all together may have ${bytes(IMAGE_LIMITS.allBytes)}.`,
      hint: 'Send these first, or remove one.',
    }
  }
  return null
}

/** Which files can be added to those that a message has, and why the first that cannot be is refused. */
export function sortOut<F extends Candidate>(
  files: readonly F[],
  held: readonly { bytes: number }[],
): { taken: F[]; refusal: Refusal | null } {
  const taken: F[] = []
  const all = [...held]
  let refusal: Refusal | null = null
  for (const file of files) {
    const problem = problemOf(file, all)
    refusal ??= problem
    if (problem !== null) continue
    taken.push(file)
    all.push({ bytes: file.size })
  }
  return { taken, refusal }
}

function base64Of(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(reader.error ?? new Error('the file could not be read'))
    reader.onload = () => {
      const url = String(reader.result)
      resolve(url.slice(url.indexOf(',') + 1))
    }
    reader.readAsDataURL(file)
  })
}

export async function readImage(file: File): Promise<DraftImage> {
  return {
    id: uuidv7(),
    name: file.name,
    mediaType: MediaType.parse(file.type),
    bytes: file.size,
    data: await base64Of(file),
  }
}
