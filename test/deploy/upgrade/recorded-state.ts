// Packs the recorded state of a version into one compressed file, and unpacks it: a state folder of `npm start`
// with simulated machines, and the program of those machines. A second file contains that version's Worker.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import * as z from "zod/mini";

const recorded = z.record(z.string(), z.string());

/** The file name of the program that runs the simulated machines, in the state folder. */
export const MACHINES = "machines.mjs";

/**
 * Matches the files that a recording leaves out: each start writes them again, or they contain the ports of the
 * recorded run.
 */
const LEFT_OUT = /^(?:logs|kubeconfig|lock.*|state\.json|worker\/(?:worker\.js|workerd\.capnp))(?:\/|$)/;

export function packState(folder: string, machines: Uint8Array, file: string): void {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const files: Record<string, string> = { [MACHINES]: Buffer.from(machines).toString("base64") };
  for (const path of paths.filter((each) => !LEFT_OUT.test(each)).sort())
    files[path] = readFileSync(join(folder, path), "base64");
  files["state.json"] = Buffer.from(withoutPorts(join(folder, "state.json"))).toString("base64");
  writeFileSync(file, brotliCompressSync(JSON.stringify(files)));
}

function withoutPorts(file: string): string {
  const state: unknown = JSON.parse(readFileSync(file, "utf8"));
  return JSON.stringify({
    ...z.looseObject({}).parse(state),
    apiserverPort: undefined,
    workerPort: undefined,
  });
}

export function unpackState(file: string, folder: string): void {
  const files = recorded.parse(JSON.parse(brotliDecompressSync(readFileSync(file)).toString()));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, path), Buffer.from(content, "base64"), { mode: 0o600 });
  }
}

/** Compresses the Worker as text: in base64, the encoding of a state's files, it would be a third larger. */
export function packWorker(worker: Uint8Array, file: string): void {
  writeFileSync(file, brotliCompressSync(worker));
}

/** Writes the recorded Worker to the module `to`, which a Worker can have as its `entry`. */
export function unpackWorker(file: string, to: string): void {
  writeFileSync(to, brotliDecompressSync(readFileSync(file)), { mode: 0o600 });
}
