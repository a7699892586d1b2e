import { z } from 'zod'

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof units

const isUnit = (value: string | undefined): value is Unit => value !== undefined && value in units

/**
 * Milliseconds of a duration such as `90s`, `10m`, `2h`, `1d`; `null` for `never`; 0 for `now`.
 * Anything else gives undefined.
 */
export function parseDuration(text: string): number | null | undefined {
  const trimmed = text.trim().toLowerCase()
  if (trimmed === 'never') return null
  if (trimmed === 'now') return 0
  const [, digits, unit] = /^(\d{1,6})\s*([smhd])$/.exec(trimmed) ?? []
  return digits !== undefined && isUnit(unit) ? Number(digits) * units[unit] : undefined
}

/** The shortest exact form that `parseDuration` reads: 600000 is `10m`, null is `never`. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return 'never'
  if (ms === 0) return 'now'
  for (const unit of ['d', 'h', 'm'] as const) {
    if (ms % units[unit] === 0) return `${ms / units[unit]}${unit}`
  }
  return `${Math.ceil(ms / 1_000)}s`
}

/** A duration as people write it: `90s`, `10m`, `2h`, `1d`, `now`, `never`. */
export const Duration = z
  .string()
  .refine(
    (text) => parseDuration(text) !== undefined,
    'not a duration such as 90s, 10m, 2h, now or never',
  )
