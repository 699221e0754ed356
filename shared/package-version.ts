// Converts a version into the form that dpkg writes and orders.

/** Converts `0.2.0-rc.1` into `0.2.0~rc.1`, which dpkg sorts before 0.2.0, so that a machine leaves the candidate. */
export function packageVersion(version: string): string {
  return version.replace("-", "~");
}
