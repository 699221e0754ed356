// Writes the page to where wrangler takes the Worker's static files from; what was built before goes. A Worker that serves them
// meanwhile always finds a whole page.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { buildPage, FIRST_LOAD_BYTES } from "./build.ts";
import { headersFile } from "./headers.ts";
import { replaceFile } from "./replace-file.ts";
import { firstLoadBytes, sizeText } from "./size.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

interface Written {
  /** What to tell whoever builds. */
  text: string;
  /** Is the first load within its limit? Nothing was written where it is not. */
  isSmallEnough: boolean;
}

export async function writePage(
  source = join(ROOT, "infra/page"),
  target = join(ROOT, "worker/static"),
  limitBytes = FIRST_LOAD_BYTES,
): Promise<Written> {
  const files = await buildPage(source);
  const text = sizeText(files, limitBytes);
  if (firstLoadBytes(files) > limitBytes) return { text, isSmallEnough: false };
  const folder = join(target, "page");
  mkdirSync(folder, { recursive: true });
  // index.html names the others: it comes once they are there, and the former ones go once nothing names them.
  const named = files.filter(({ path }) => path.startsWith("page/"));
  for (const { path, contents } of [...named, ...files.filter((each) => !named.includes(each))])
    replaceFile(join(target, path), contents);
  const names = new Set(named.map(({ path }) => basename(path)));
  for (const name of readdirSync(folder))
    if (!names.has(name)) rmSync(join(folder, name), { recursive: true });
  replaceFile(join(target, "_headers"), Buffer.from(headersFile()));
  return { text, isSmallEnough: true };
}
