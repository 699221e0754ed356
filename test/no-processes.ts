// Refuses to start a process in the quick suite. The error names the suite where such a test belongs. Set up before
// each file.
import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"]) {
  const refuse = (program: string): never => {
    const what = `${name}(${JSON.stringify(program)})`;
    throw new Error(`${what}: this suite starts no process; such tests belong in test/process/`);
  };
  Object.assign(childProcess, { [name]: refuse });
}
syncBuiltinESMExports();
