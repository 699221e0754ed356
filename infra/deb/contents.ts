// Writes the files that all packages of the shim have: shim, unit, manual page, licences, and Node.js if included.
import { chmodSync, cpSync, lutimesSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { shimProgram } from "../../node-shim/cli/command-line.ts";
import { type ManualPart, manPage } from "./man-page.ts";
import type { Runtime } from "./runtime.ts";

export interface Build {
  /** The folder to fill. */
  tree: string;
  /** The folder of the unpacked npm package. */
  npmPackage: string;
  /** The Node.js in the package. Without it, the package uses the machine's Node.js. */
  runtime?: Runtime;
  /** The path of the project's root. */
  root: string;
  version: string;
  /** The time of every packed file, in seconds since 1970: SOURCE_DATE_EPOCH. */
  epochSeconds: number;
}

/** Returns a function that writes a file below `folder` with a mode, and makes the folders above the file. */
export function writerOf(folder: string) {
  return (path: string, content: string | Buffer, mode = 0o644): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
    chmodSync(join(folder, path), mode);
  };
}

/** Reads a file of infra/deb/files, which the packages contain unchanged. */
export function fileOf(root: string, name: string): Buffer {
  return readFileSync(join(root, "infra/deb/files", name));
}

/** Copies the shim as npm packs it. With a runtime, also writes the Node.js and a launcher for the shim. */
export function fillHome(home: string, { npmPackage, runtime, root }: Build): void {
  cpSync(npmPackage, home, { recursive: true });
  if (!runtime) return;
  const put = writerOf(home);
  put("bin/node", runtime.program, 0o755);
  put("bin/node-shim", fileOf(root, "node-shim"), 0o755);
}

/** The rule sets for --problem-detectors. */
export const RULE_SETS = ["clock", "disk", "filesystem", "kernel", "runtime"] as const;

/** Reads a systemd unit. */
export function unitOf(root: string, name: string): string {
  return readFileSync(join(root, "infra/systemd", name), "utf8");
}

/** Returns the systemd unit of a service that runs the shim in `home` (an absolute path) with the program `node`. */
export function serviceUnit(root: string, name: string, node: string, home: string): string {
  const template = unitOf(root, name);
  const start = "ExecStart=/usr/bin/node /usr/share/rollcall-node-shim/bin/node-shim.cjs ";
  if (!template.includes(start)) throw new Error(`${name} does not run the packages' shim`);
  return template.replace(start, () => `ExecStart=${node} ${home}/bin/node-shim.cjs `);
}

/** Returns the licences of the libraries in the bundles and, with a runtime, those of Node.js. */
export function noticesOf({ npmPackage, runtime }: Build): string {
  const bundled = readFileSync(join(npmPackage, "dist/THIRD-PARTY-NOTICES.txt"), "utf8");
  if (!runtime) return bundled;
  return `${bundled}\n${"-".repeat(72)}\n\nNode.js ${runtime.version}: bin/node\n\n${runtime.licence}`;
}

export function manual({ version, epochSeconds }: Build): Buffer {
  const date = new Date(epochSeconds * 1000).toISOString().slice(0, 10);
  return gzip(manPage(shimProgram(), { version, date }, SHIM_MANUAL));
}

const SHIM_MANUAL: ManualPart = {
  section: 8,
  files: [
    ["/etc/rollcall/kubelet.yaml", "KubeletConfiguration that the service reads."],
    ["/etc/rollcall/node-shim.env", "The service's environment: NODE_SHIM_FLAGS, ROLLCALL_URL, HTTPS_PROXY."],
    ["/var/lib/rollcall", "The machine's key and enrolment."],
    ["/run/rollcall-node-shim/status.json", "What node-shim status shows of the service."],
  ],
};

export const gzip = (text: string) => gzipSync(text, { level: 9 });

/** Sets one mode for all folders, regardless of the builder's umask, and one time for all files. */
export function settle(tree: string, epochSeconds: number): void {
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    lutimesSync(path, epochSeconds, epochSeconds);
  }
  chmodSync(tree, 0o755);
  lutimesSync(tree, epochSeconds, epochSeconds);
}
