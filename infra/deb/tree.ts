// The files of the .deb, as they lie on a machine, and what dpkg wants to know of them.
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { shimProgram } from "../../node-shim/cli/program.ts";
import { UNIT_NAME } from "../../node-shim/service/unit.ts";
import { changelogText, controlText, copyrightText, PACKAGE } from "./control.ts";
import { manPage } from "./man-page.ts";

export interface Build {
  /** The folder to be filled. */
  tree: string;
  /** The unpacked npm package. */
  npmPackage: string;
  /** The project's root. */
  root: string;
  version: string;
  /** SOURCE_DATE_EPOCH. */
  epochSeconds: number;
}

/** Fills the folder; every mode and time in it is set, so that two builds are the same byte for byte. */
export function fillTree(build: Build): void {
  const { tree, npmPackage, root, version, epochSeconds } = build;
  const date = new Date(epochSeconds * 1000);
  const put = (path: string, content: string | Buffer, mode = 0o644) => {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    writeFileSync(join(tree, path), content);
    chmodSync(join(tree, path), mode);
  };
  const ours = (file: string) => readFileSync(join(root, "infra/deb/files", file));

  const share = `usr/share/${PACKAGE}`;
  cpSync(npmPackage, join(tree, share), { recursive: true });
  mkdirSync(join(tree, "usr/bin"), { recursive: true });
  symlinkSync(`../share/${PACKAGE}/bin/node-shim.cjs`, join(tree, "usr/bin/node-shim"));
  put(`usr/lib/systemd/system/${UNIT_NAME}`, readFileSync(join(root, "infra/systemd", UNIT_NAME)));
  put("etc/rollcall/kubelet.yaml", ours("kubelet.yaml"));
  put("etc/rollcall/node-shim.env", ours("node-shim.env"));
  const notices = readFileSync(join(npmPackage, "dist/THIRD-PARTY-NOTICES.txt"), "utf8");
  put(`usr/share/doc/${PACKAGE}/copyright`, copyrightText(notices));
  put(`usr/share/doc/${PACKAGE}/changelog.gz`, gzip(changelogText(version, date)));
  const edition = { version, date: date.toISOString().slice(0, 10) };
  put("usr/share/man/man8/node-shim.8.gz", gzip(manPage(shimProgram(), edition)));

  const files = filesIn(tree);
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(tree, file)).size, 0);
  put("DEBIAN/control", controlText({ version, sizeKib: Math.ceil(bytes / 1024) }));
  put(
    "DEBIAN/conffiles",
    files
      .filter((file) => file.startsWith("etc/"))
      .map((file) => `/${file}\n`)
      .join(""),
  );
  put("DEBIAN/md5sums", md5sums(tree, files));
  for (const script of ["postinst", "prerm", "postrm"]) put(`DEBIAN/${script}`, ours(script), 0o755);
  settle(tree, epochSeconds);
}

const gzip = (text: string) => gzipSync(text, { level: 9 });

/** Of all files and links, from the tree's root, in an order that is the same everywhere. */
function filesIn(tree: string): string[] {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(tree, join(entry.parentPath, entry.name)))
    .sort();
}

function md5sums(tree: string, files: string[]): string {
  return files
    .filter((file) => !file.startsWith("etc/") && lstatSync(join(tree, file)).isFile())
    .map(
      (file) =>
        `${createHash("md5")
          .update(readFileSync(join(tree, file)))
          .digest("hex")}  ${file}\n`,
    )
    .join("");
}

/** Folders as the builder's umask would not make them, and one time for all. */
function settle(tree: string, epochSeconds: number): void {
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    lutimesSync(path, epochSeconds, epochSeconds);
  }
  chmodSync(tree, 0o755);
  lutimesSync(tree, epochSeconds, epochSeconds);
}
