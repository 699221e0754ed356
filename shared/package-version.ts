// Converts a version into the form that dpkg writes and orders.

/**
 * Converts `0.2.0-rc.1` into `0.2.0~rc.1`. dpkg sorts a tilde before the end, but 0.2.0-rc.1 after 0.2.0, so that a
 * machine would keep the release candidate for ever.
 */
export function packageVersion(version: string): string {
  return version.replace("-", "~");
}
