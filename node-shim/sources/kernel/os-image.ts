// What the operating system calls itself. Reads os-release only; runs no shell on it.
import { readDiskFile, type Reading } from "../../base/reading.ts";

/** The first PRETTY_NAME, without quotes around it; `Linux` without one (cAdvisor getOperatingSystem). */
export async function osImage(root: string): Promise<Reading<string>> {
  let source = "/etc/os-release";
  let file = await readDiskFile(root, source);
  if (!file.ok && file.error.reason === "missing") {
    source = "/usr/lib/os-release";
    file = await readDiskFile(root, source);
  }
  if (!file.ok) return file;
  const name = /PRETTY_NAME=([^\n]*)/.exec(file.value)?.[1];
  return { ok: true, value: name === undefined ? "Linux" : name.replace(/^"+|"+$/g, ""), source };
}
