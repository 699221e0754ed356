// Writes the page to where wrangler takes the Worker's static files from; what was built before goes.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { buildPage, FIRST_LOAD_BYTES } from "./build.ts";
import { headersFile } from "./headers.ts";
import { firstLoadBytes, sizeText } from "./size.ts";

const ROOT = resolve(import.meta.dirname, "../..");

interface Written {
  /** What to tell whoever builds. */
  text: string;
  /** Is the first load within its limit? Nothing was written where it is not. */
  isSmallEnough: boolean;
}

export async function writePage(
  source = join(ROOT, "worker/page"),
  target = join(ROOT, "worker/static"),
  limitBytes = FIRST_LOAD_BYTES,
): Promise<Written> {
  const files = await buildPage(source);
  const text = sizeText(files, limitBytes);
  if (firstLoadBytes(files) > limitBytes) return { text, isSmallEnough: false };
  rmSync(join(target, "page"), { recursive: true, force: true });
  for (const { path, contents } of files) {
    const file = join(target, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, contents);
  }
  writeFileSync(join(target, "_headers"), headersFile());
  return { text, isSmallEnough: true };
}
