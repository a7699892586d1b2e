/** `ssh://git@host` names the account that everybody uses. */
const SSH = /(^|[^a-z0-9+.-])(git\+)?ssh$/i

/** The text without the user names and passwords that URLs in it carry. */
export function withoutCredentials(text: string): string {
  // A pattern that began at the scheme would try each letter of a long word as its beginning.
  return text.replace(/:\/\/([^/\s@'"]+)@/g, (whole, account: string, at: number) =>
    !account.includes(':') && SSH.test(text.slice(Math.max(0, at - 8), at)) ? whole : '://',
  )
}
