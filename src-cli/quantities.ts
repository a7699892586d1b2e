export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  return bytes < 2 ** 20
    ? `${(bytes / 1_024).toFixed(1)} KiB`
    : `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
