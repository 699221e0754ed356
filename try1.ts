import { startCountingKube } from "./test/bench/counting-kube.ts";
import { renewed } from "./test/bench/heartbeat-load.ts";
import { startSocketMachine } from "./test/bench/socket-machine.ts";
import { startBenchWorker } from "./test/bench/workerd.ts";
import { httpTransport } from "./node-shim/worker-link/http-transport.ts";
import { machineFacts, machineVitals } from "./test/bench/machine.ts";
import { GatewaySocket } from "./node-shim/worker-link/socket-transport.ts";
import { fileURLToPath } from "node:url";
const entry = fileURLToPath(new URL("./test/worker/support/ahead-entry.ts", import.meta.url));
const kube = await startCountingKube(Date.now, { shortcut: renewed });
const w = await startBenchWorker(kube, "m-*", { entry });
try {
const orig = (GatewaySocket.prototype as any).report;
(GatewaySocket.prototype as any).report = async function (r: any) { const a = await orig.call(this, r); console.log("report", a?.status, JSON.stringify(a).slice(0,400)); return a; };
let ahead=0; const nowMs=()=>Date.now()+ahead;
const { send, close } = httpTransport(w.url, 9000);
let t0=performance.now();
const m = await startSocketMachine(w, { name: "m-1", facts: machineFacts(), send, nowMs });
console.log("started in", performance.now()-t0);
for (let i=1;i<6;i++){ await fetch(`${w.url}/ahead/9600`); ahead+=9600; t0=performance.now(); console.log(i, await m.beat(machineVitals(i)), performance.now()-t0); if (i===3) await m.report(machineVitals(i)); }
m.stop(); close();
} finally { await w.stop(); await kube.stop(); }
