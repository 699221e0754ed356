// The quick suite starts no process: a test that would is refused, and told where it belongs. Set up before each file.
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { expect } from "vitest";

/** Files that have yet to move. */
const EXCEPTIONS = ["test/infra/cloudflare/cloudflare.test.ts"];

const STARTS = ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"] as const;
const REFUSAL = "this suite starts no process; such tests belong in test/process/";

type Start = (...args: unknown[]) => unknown;

for (const name of STARTS) {
  const started = childProcess[name] as Start;
  // A worker that runs several files sets up before each of them.
  if (started.name === "refused") continue;
  const refused: Start = (...args) => {
    const { testPath = "" } = expect.getState();
    if (EXCEPTIONS.some((path) => testPath.endsWith(path))) return started(...args);
    throw new Error(`${name}(${JSON.stringify(args[0])}): ${REFUSAL}`);
  };
  Object.assign(childProcess, { [name]: refused });
}
syncBuiltinESMExports();
