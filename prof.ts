import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync, readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mintToken } from "./infra/local/admin.ts";
import { freePort } from "./infra/local/ports.ts";
import { prepareWorker } from "./infra/local/workerd.ts";
import { startWorkerd, ROOT } from "./test/bench/workerd.ts";
import { cpuSecondsOf } from "./test/bench/process-weight.ts";
import { startCountingKube } from "./test/bench/counting-kube.ts";
import { renewed, startLoad } from "./test/bench/heartbeat-load.ts";
import { startSocketLoad } from "./test/bench/socket-load.ts";
import { startBareSocketLoad } from "./test/bench/bare-socket-load.ts";
import * as bw from "./test/bench/bare-workerd.ts";
import { fileURLToPath } from "node:url";
import { execFileSync } from "node:child_process";
const kind = process.argv[2] ?? "socket";
const entry = fileURLToPath(new URL("./test/worker/support/ahead-entry.ts", import.meta.url));
const kube = await startCountingKube(Date.now, { shortcut: renewed });
let pid: number, url: string, stop: any, worker: any;
if (kind === "bare") {
  worker = await bw.startBareWorker(kube); ({ url, stop } = worker);
  pid = Number(execFileSync("bash", ["-c", `ss -ltnp | grep ':${new URL(url).port} ' | sed 's/.*pid=\\([0-9]*\\).*/\\1/'`]).toString());
} else {
const folder = mkdtempSync(join(tmpdir(), "rollcall-bench-"));
const port = await freePort("", undefined, undefined);
const secret = randomBytes(32).toString("base64url");
const command = await prepareWorker({ folder, root: ROOT, entry, port, deployment: "rollcall", kubeUrl: kube.url, kubeCa: undefined, kubeToken: kube.token, variables: { MACHINE_REQUESTS: "1000000", NODE_WATCH: "off" }, macKeys: `1:${randomBytes(32).toString("base64url")}`, adminSecretSha256: createHash("sha256").update(secret).digest("base64url") });
const f = command[2]!; writeFileSync(f, readFileSync(f, "utf8").replace("const config :Workerd.Config = (", 'const config :Workerd.Config = (\n  v8Flags = ["--perf-basic-prof"],'));
({ pid, url, stop } = await startWorkerd(folder, command, port));
worker = { url, joinToken: await mintToken(url, secret, { names: "m-*", uses: 5000, withoutFactsOnlyTaint: false }), cpuMicroseconds: () => cpuSecondsOf(pid) * 1e6, stop };
}
try {
const load = kind === "socket" ? await startSocketLoad(worker, "m", () => {}) : kind === "bare" ? await startBareSocketLoad(worker) : await startLoad(worker, "m", () => {});
for (let i = 0; i < 9; i++) await (load as any).round(4);
const perf = spawn("perf", ["record", "-e", "cpu-clock", "-F", "2500", "-g", "-p", String(pid), "-o", `/tmp/perf-${kind}.data`], { stdio: "ignore" });
await new Promise((r) => setTimeout(r, 1500));
let beats = 0, cpu = 0;
for (let i = 0; i < 18; i++) { const r = await (load as any).round(4); beats += 256; cpu += r.cpuMicroseconds * 256; }
perf.kill("SIGINT"); await new Promise((r) => perf.on("exit", r));
console.log(kind, "cpu per beat", cpu / beats, "beats", beats);
load.stop();
} finally { await stop(); await kube.stop(); }
