import { useState } from 'react'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { DraftImage } from './images.ts'

/** The images among what was pasted or dropped; a picture copied from a page comes as one too. */
export const imageFiles = (data: DataTransfer): File[] => [...data.files]

/** Images of messages that are not sent yet, by session; too large to be kept over a reload. */
const drafts = new Map<string, readonly DraftImage[]>()

/** The images of a session's next message. */
export function useImages(session: string, onRefused: (refusal: Refusal) => void) {
  const [images, setImages] = useState<readonly DraftImage[]>(() => drafts.get(session) ?? [])
  const set = (next: readonly DraftImage[]) => {
    drafts.set(session, next)
    setImages(next)
  }
  const add = async (files: readonly File[], runtimeTakes: boolean): Promise<void> => {
    if (!runtimeTakes) {
      onRefused({
        code: 'image.runtime',
        message: 'The runtime of this session takes no images.',
        hint: 'Put the file into the workspace and name it in the message.',
      })
      return
    }
    // The limits are the contract's, which a window without images does without.
    const { readImage, sortOut } = await import('./images.ts')
    const { taken, refusal } = sortOut(files, drafts.get(session) ?? [])
    if (refusal !== null) onRefused(refusal)
    for (const file of taken) {
      try {
        const image = await readImage(file)
        set([...(drafts.get(session) ?? []), image])
      } catch (error) {
        onRefused({
          code: 'image.unreadable',
          message: `“${file.name}” could not be read: ${error instanceof Error ? error.message : String(error)}`,
          hint: 'Check that the file is still there, then add it again.',
        })
      }
    }
  }
  /** Puts images that could not be given in front of those that were added meanwhile. */
  const putBack = (before: readonly DraftImage[]) =>
    set([...before, ...(drafts.get(session) ?? [])])
  return { images, set, add, putBack }
}
