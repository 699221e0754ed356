// Which sysctls a kubelet lets its pods set: those that the kernel keeps apart for each of them (upstream NewAllowlist).

const MAX_LENGTH = 253;
const PATTERN = /^(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9*][-_a-z0-9*]*$/;
const NAMESPACED = new Set([
  "kernel.sem",
  ...["all", "max", "mni", "_rmid_forced", ""].map((name) => `kernel.shm${name}`),
  ...["max", "mnb", "mni", ""].map((name) => `kernel.msg${name}`),
]);
const NAMESPACED_FOLDERS = ["net.", "fs.mqueue."];

/** `pattern`: a sysctl, or the beginning of some and an asterisk. null: allowed. */
export function sysctlFault(pattern: string): string | null {
  if (pattern.length > MAX_LENGTH || !PATTERN.test(pattern) || !/^[^*]*\*?$/.test(pattern))
    return `"${pattern}" is no sysctl, and no pattern of some`;
  const beginning = pattern.replaceAll("/", ".").replace("*", "");
  const isNamespaced =
    NAMESPACED.has(beginning) || NAMESPACED_FOLDERS.some((folder) => beginning.startsWith(folder));
  return isNamespaced ? null : `the sysctls "${pattern}" are not known to be namespaced`;
}
