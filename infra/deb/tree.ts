// Writes the files of the .deb, and the files of the .tar.gz that install.sh unpacks on systems without dpkg.
import { hash } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { PACKAGE } from "../../node-shim/service/package.ts";
import { ASK_SERVICE_UNIT, ASK_SOCKET_UNIT, UNIT_NAME } from "../../node-shim/service/unit.ts";
import * as contents from "./contents.ts";
import { changelogText, controlText, copyrightText } from "./control.ts";

/** The units that ask for a version, and install it with apt. Only the .deb has them: other systems have no apt. */
const UPGRADE_SERVICES = [`${PACKAGE}-upgrade-ask.service`, `${PACKAGE}-upgrade.service`];
const UPGRADE_TIMER = `${PACKAGE}-upgrade.timer`;

/** Writes the files of the .deb. Sets each mode and time, so that two builds have the same bytes. */
export function fillTree(build: contents.Build): void {
  const { tree, runtime, root, version, epochSeconds } = build;
  const put = contents.writerOf(tree);
  const home = `usr/${runtime ? "lib" : "share"}/${PACKAGE}`;
  contents.fillHome(join(tree, home), build);
  mkdirSync(join(tree, "usr/bin"), { recursive: true });
  const command = runtime ? "node-shim" : "node-shim.cjs";
  symlinkSync(`../${home.slice("usr/".length)}/bin/${command}`, join(tree, "usr/bin/node-shim"));
  const node = runtime ? `/${home}/bin/node` : "/usr/bin/node";
  const units = "usr/lib/systemd/system";
  for (const name of [UNIT_NAME, ASK_SERVICE_UNIT, ...UPGRADE_SERVICES])
    put(`${units}/${name}`, contents.serviceUnit(root, name, node, `/${home}`));
  for (const name of [ASK_SOCKET_UNIT, UPGRADE_TIMER]) put(`${units}/${name}`, contents.unitOf(root, name));
  put("etc/rollcall/kubelet.yaml", contents.fileOf(root, "kubelet.yaml"));
  put("etc/rollcall/node-shim.env", contents.fileOf(root, "node-shim.env"));
  for (const name of contents.RULE_SETS)
    put(`usr/share/rollcall/problems/${name}.json`, contents.fileOf(root, `problems/${name}.json`));
  const documents = `usr/share/doc/${PACKAGE}`;
  put(`${documents}/copyright`, copyrightText(contents.noticesOf(build)));
  put(`${documents}/changelog.gz`, contents.gzip(changelogText(version, new Date(epochSeconds * 1000))));
  put("usr/share/man/man8/node-shim.8.gz", contents.manual(build));
  putControl(build);
  contents.settle(tree, epochSeconds);
}

function putControl({ tree, runtime, root, version }: contents.Build): void {
  const put = contents.writerOf(tree);
  const files = filesIn(tree);
  const architecture = runtime?.architecture ?? "all";
  put("DEBIAN/control", controlText({ version, architecture, sizeKib: sizeKibOf(tree) }));
  const conffiles = files.filter((file) => file.startsWith("etc/"));
  put("DEBIAN/conffiles", conffiles.map((file) => `/${file}\n`).join(""));
  put("DEBIAN/md5sums", md5sums(tree, files));
  for (const script of ["postinst", "prerm", "postrm"])
    put(`DEBIAN/${script}`, contents.fileOf(root, script), 0o755);
}

export function sizeKibOf(tree: string): number {
  const bytes = filesIn(tree).reduce((sum, file) => sum + lstatSync(join(tree, file)).size, 0);
  return Math.ceil(bytes / 1024);
}

/** Returns the paths of all files and links in the tree, sorted. */
export function filesIn(tree: string): string[] {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(tree, join(entry.parentPath, entry.name)))
    .sort();
}

export function md5sums(tree: string, files: string[]): string {
  return files
    .filter((file) => !file.startsWith("etc/") && lstatSync(join(tree, file)).isFile())
    .map((file) => `${hash("md5", readFileSync(join(tree, file)))}  ${file}\n`)
    .join("");
}

/** The path of the active release: a link that install.sh points at the folder of one release. */
const HOME = "/opt/rollcall-node-shim/current";

export function fillFolder(build: contents.Build): void {
  const { tree, root, epochSeconds } = build;
  const put = contents.writerOf(tree);
  contents.fillHome(tree, build);
  put("LICENSES.txt", contents.noticesOf(build));
  put("man/node-shim.8.gz", contents.manual(build));
  for (const name of contents.RULE_SETS)
    put(`problems/${name}.json`, contents.fileOf(root, `problems/${name}.json`));
  for (const name of [UNIT_NAME, ASK_SERVICE_UNIT])
    put(`systemd/${name}`, contents.serviceUnit(root, name, `${HOME}/bin/node`, HOME));
  put(`systemd/${ASK_SOCKET_UNIT}`, contents.unitOf(root, ASK_SOCKET_UNIT));
  put("etc/kubelet.yaml", contents.fileOf(root, "kubelet.yaml"));
  put("etc/node-shim.env", contents.fileOf(root, "node-shim.env"));
  contents.settle(tree, epochSeconds);
}
