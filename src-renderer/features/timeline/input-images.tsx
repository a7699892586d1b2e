import { useEffect, useState } from 'react'
import type { SessionId } from '../../../src-shared/ids.ts'
import type { InputImage } from '../../../src-shared/records.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { bytes } from '../../ui/words.ts'
import { useBlob } from './use-blob.ts'

function Image({
  image,
  number,
  session,
}: {
  image: InputImage
  number: number
  session: SessionId
}) {
  const { load, begin } = useBlob(session, image.blob)
  const [large, setLarge] = useState(false)
  useEffect(() => void begin(), [begin])
  const label = `Image ${number}, ${bytes(image.bytes)}`
  if (load.state === 'failed') {
    return (
      <button
        type="button"
        className="tl-image"
        title={load.refusal.message}
        onClick={() => void begin()}
      >
        not loaded: try again
      </button>
    )
  }
  if (load.state !== 'ready') return <span className="tl-image">{bytes(image.bytes)} …</span>
  const address = `data:${image.mediaType};base64,${load.text}`
  return (
    <>
      <button
        type="button"
        className="tl-image"
        aria-label={`${label}: show large`}
        onClick={() => setLarge(true)}
      >
        <img src={address} alt="" />
      </button>
      {large ? (
        <Dialog label={label} className="tl-image-large" onClose={() => setLarge(false)}>
          <form method="dialog">
            <img src={address} alt={label} />
            <button type="submit" className="btn">
              Close
            </button>
          </form>
        </Dialog>
      ) : null}
    </>
  )
}

/** The images of a message, small; one is shown large on demand. */
export function InputImages({
  images,
  session,
}: {
  images: readonly InputImage[]
  session: SessionId
}) {
  if (images.length === 0) return null
  return (
    <div className="tl-images">
      {images.map((image, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may be there twice
        <Image key={`${at} ${image.blob}`} image={image} number={at + 1} session={session} />
      ))}
    </div>
  )
}
