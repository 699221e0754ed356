// Converts a version into the form that dpkg writes and orders, and back.
import { RELEASE } from "./protocol/administration-api.ts";
import { ROLLOUT_LIMITS } from "./protocol/limits.ts";

/** Converts `0.2.0-rc.1` into `0.2.0~rc.1`, which dpkg sorts before 0.2.0, so that a machine leaves the candidate. */
export function packageVersion(version: string): string {
  return version.replace("-", "~");
}

/** Converts `0.2.0~rc.1` into `0.2.0-rc.1`; null if the text is not the Debian version of a release. */
export function releaseOf(debianVersion: string): string | null {
  const version = debianVersion.replace("~", "-");
  const isRelease = version.length <= ROLLOUT_LIMITS.versionLength && RELEASE.test(version);
  return isRelease && packageVersion(version) === debianVersion ? version : null;
}
