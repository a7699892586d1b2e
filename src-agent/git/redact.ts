/** The text without the user names and passwords that URLs in it carry. */
export function withoutCredentials(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^/\s@'"]+@/gi, (whole, scheme: string) =>
    // `ssh://git@host` names the account that everybody uses.
    /:\/\/[^:]+@$/.test(whole) && /^(ssh|git\+ssh):/i.test(scheme) ? whole : scheme,
  )
}
