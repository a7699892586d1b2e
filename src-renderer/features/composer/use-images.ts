import { useStore } from 'zustand'
import { createStore } from 'zustand/vanilla'
import type { Refusal } from '../../../src-shared/refusal.ts'
import type { DraftImage } from './images.ts'

/** The images among what was pasted or dropped; a picture copied from a page comes as one too. */
export const imageFiles = (data: DataTransfer): File[] => [...data.files]

/** Images of messages that are not sent yet, by session; too large to be kept over a reload. */
const drafts = createStore<ReadonlyMap<string, readonly DraftImage[]>>(() => new Map())

const none: readonly DraftImage[] = []

const imagesOf = (session: string): readonly DraftImage[] => drafts.getState().get(session) ?? none

/** Also those that could not be given come back to the box that is open by then. */
function setImages(session: string, images: readonly DraftImage[]): void {
  drafts.setState(new Map(drafts.getState()).set(session, images), true)
}

/** The images of a session's next message. */
export function useImages(session: string, onRefused: (refusal: Refusal) => void) {
  const images = useStore(drafts, (all) => all.get(session) ?? none)
  const set = (next: readonly DraftImage[]) => setImages(session, next)
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
    const { taken, refusal } = sortOut(files, imagesOf(session))
    if (refusal !== null) onRefused(refusal)
    for (const file of taken) {
      try {
        const image = await readImage(file)
        set([...imagesOf(session), image])
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
  const putBack = (before: readonly DraftImage[]) => set([...before, ...imagesOf(session)])
  return { images, set, add, putBack }
}
