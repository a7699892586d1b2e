import { bytes } from '../../ui/words.ts'
import type { DraftImage } from './images.ts'

/** Thumbnails of the images that will be sent. */
export function ImageList({
  images,
  onChange,
}: {
  images: readonly DraftImage[]
  onChange: (images: readonly DraftImage[]) => void
}) {
  if (images.length === 0) return null
  return (
    <ul className="comp-images" aria-label="Images of the message">
      {images.map((image, at) => {
        const name = image.name === '' ? `image ${at + 1}` : image.name
        return (
          <li key={image.id} title={`${name}, ${bytes(image.bytes)}`}>
            <img src={`data:${image.mediaType};base64,${image.data}`} alt={name} />
            <button
              type="button"
              className="comp-image-remove"
              aria-label={`Remove ${name}`}
              onClick={() => onChange(images.filter(({ id }) => id !== image.id))}
            >
              ×
            </button>
          </li>
        )
      })}
    </ul>
  )
}
