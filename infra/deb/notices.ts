// Writes the licence of an npm package (dist/LICENSE), and the licences of the bundled libraries, as their terms
// demand (dist/THIRD-PARTY-NOTICES.txt). Runs in the package's folder before npm packs it.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const PACKAGE = process.cwd();

interface Metafile {
  inputs: Record<string, unknown>;
}

/** Returns the folders of the packages that esbuild has bundled into `dist`. */
function bundledPackages(dist: string): string[] {
  const metafiles = readdirSync(dist).filter((file) => file.endsWith("metafile.json"));
  if (metafiles.length === 0) throw new Error(`${dist} has no metafile.json: npm run build comes first`);
  const inputs = metafiles.flatMap((file) =>
    Object.keys((JSON.parse(readFileSync(join(dist, file), "utf8")) as Metafile).inputs),
  );
  const folders = inputs.flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
    string,
    string
  >;
  const file = readdirSync(folder).find((file) => /^(licen[cs]e|copying)(\.|$)/i.test(file));
  if (file === undefined) throw new Error(`${folder} has no licence file: its terms cannot be passed on`);
  const text = readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim();
  return `${name} ${version}, ${license}\n\n${text}\n`;
}

const notices = bundledPackages(join(PACKAGE, "dist")).map((folder) => noticeOf(join(PACKAGE, folder)));
writeFileSync(join(PACKAGE, "dist/THIRD-PARTY-NOTICES.txt"), notices.join(`\n${"-".repeat(72)}\n\n`));
copyFileSync(join(ROOT, "LICENSE"), join(PACKAGE, "dist/LICENSE"));
