// A version as dpkg writes and orders it. Pure.

/**
 * `0.2.0-rc.1` → `0.2.0~rc.1`: dpkg sorts a tilde before the end, and 0.2.0-rc.1 after 0.2.0, which would keep a machine on
 * the candidate for ever.
 */
export function packageVersion(version: string): string {
  return version.replace("-", "~");
}
