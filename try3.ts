import { setTimeout as wait } from "node:timers/promises";
import { startCountingKube } from "./test/bench/counting-kube.ts";
import { startSocketMachine } from "./test/bench/socket-machine.ts";
import { startBenchWorker } from "./test/bench/workerd.ts";
import { startRelay } from "./test/bench/relay.ts";
import { machineFacts, machineVitals } from "./test/bench/machine.ts";
import { readdirSync, readFileSync } from "node:fs";
const relay = await startRelay();
const kube = await startCountingKube(Date.now);
const w = await startBenchWorker(kube, "m-*", { variables: { NODE_WATCH: "off", ORIGINS: relay.url } });
relay.leadTo(w.url);
try {
const m = await startSocketMachine({ ...w, url: relay.url }, { name: "m-1", facts: machineFacts(), nowMs: Date.now });
await m.open();
await wait(6000);
console.log("beat", await m.beat(machineVitals(1)));
relay.cutOff(); const t0 = performance.now();
m.stop();
for (let i=0;i<70;i++){ await wait(1000); const s = await (await fetch(`${w.url}/v1/nodes/m-1/summary`, { headers: w.operator.headers })).json() as any; if (i%5===0 || s.state==="silent") console.log(((performance.now()-t0)/1000).toFixed(1), s.state, s.transport, s.silentSince, kube.asked().map(a=>a.verb+a.path).join(" ")); if (s.state==="silent") break; }
const n = await (await fetch(`${w.url}/v1/nodes/m-1`, { headers: w.operator.headers })).json() as any; console.log(JSON.stringify(n).slice(0,1500));
const met = await (await fetch(`${w.url}/metrics`, { headers: w.operator.headers })).text(); console.log(met.split("\n").filter(l=>l.startsWith("rollcall_gateway")).slice(0,60).join("\n"));
} finally { await w.stop(); await kube.stop(); relay.stop(); }
