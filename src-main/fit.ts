import type { Rectangle } from 'electron'

/** The place, made as small and moved as far as it takes to lie within the area of a screen that windows may use. */
export function fitInto(place: Rectangle, area: Rectangle): Rectangle {
  const width = Math.min(place.width, area.width)
  const height = Math.min(place.height, area.height)
  return {
    x: Math.max(area.x, Math.min(place.x, area.x + area.width - width)),
    y: Math.max(area.y, Math.min(place.y, area.y + area.height - height)),
    width,
    height,
  }
}
