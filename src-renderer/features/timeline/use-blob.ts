import { useCallback, useEffect, useRef, useState } from 'react'
import type { BlobId, SessionId } from '../../../src-shared/ids.ts'
import type { Refusal } from '../../../src-shared/refusal.ts'
import { refusalOf, useClient } from '../../sync/client.ts'

/** Characters asked for at once: small enough that the window stays quick between two pieces. */
const PIECE = 512 * 1_024

export type BlobLoad =
  | { state: 'idle' }
  | { state: 'loading'; loaded: number; length: number }
  | { state: 'ready'; text: string }
  | { state: 'failed'; refusal: Refusal }

/** Loads a large text piece by piece when asked to, and lets go of it with the component. */
export function useBlob(session: SessionId, blob: string | undefined) {
  const client = useClient()
  const [load, setLoad] = useState<BlobLoad>({ state: 'idle' })
  const current = useRef(true)
  useEffect(() => {
    current.current = true
    return () => {
      current.current = false
    }
  }, [])

  const begin = useCallback(async () => {
    if (blob === undefined) return
    const pieces: string[] = []
    let loaded = 0
    let length = 0
    setLoad({ state: 'loading', loaded, length })
    try {
      do {
        const piece = await client.timeline.blob({
          session,
          blob: blob as BlobId,
          offset: loaded,
          limit: PIECE,
        })
        if (!current.current) return
        if (piece.text === '' && loaded < piece.length) throw new Error('the text ended too early')
        pieces.push(piece.text)
        loaded += piece.text.length
        length = piece.length
        setLoad({ state: 'loading', loaded, length })
      } while (loaded < length)
      setLoad({ state: 'ready', text: pieces.join('') })
    } catch (error) {
      if (current.current) setLoad({ state: 'failed', refusal: refusalOf(error) })
    }
  }, [client, session, blob])

  const forget = useCallback(() => setLoad({ state: 'idle' }), [])
  return { load, begin, forget }
}
