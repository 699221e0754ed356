import { startCountingKube } from "./test/bench/counting-kube.ts";
import { renewed, startLoad } from "./test/bench/heartbeat-load.ts";
import { startSocketLoad } from "./test/bench/socket-load.ts";
import { startBareSocketLoad } from "./test/bench/bare-socket-load.ts";
import { startBareWorker } from "./test/bench/bare-workerd.ts";
import { startBenchWorker } from "./test/bench/workerd.ts";
import { fileURLToPath } from "node:url";
import { median } from "./test/bench/rounds.ts";
const entry = fileURLToPath(new URL("./test/worker/support/ahead-entry.ts", import.meta.url));
const stops: any[] = [];
try {
const kube = async () => { const k = await startCountingKube(Date.now, { shortcut: renewed }); stops.push(k.stop); return k; };
const w = await startBenchWorker(await kube(), "m-*", { entry }); stops.push(w.stop);
const w2 = await startBenchWorker(await kube(), "h-*"); stops.push(w2.stop);
const w3 = await startBareWorker(await kube()); stops.push(w3.stop);
const h = await startLoad(w2, "h", () => {}); stops.push(h.stop);
console.log("http ready");
const b = await startBareSocketLoad(w3); stops.push(b.stop);
console.log("bare ready");
const t0=performance.now();
const s = await startSocketLoad(w, "m", () => {}); stops.push(s.stop);
console.log("sockets ready", performance.now()-t0);
for (let i=0;i<12;i++){ await s.round(); await h.round(4); await b.round(); }
const rs:any[]=[], rh:any[]=[], rb:any[]=[];
for (let i=0;i<31;i++){ rs.push(await s.round()); rh.push(await h.round(4)); rb.push(await b.round()); }
const col=(a:any[],k:string)=>median(a.map(x=>x[k])).toFixed(0);
console.log("socket", col(rs,"cpuMicroseconds"), col(rs,"heartbeatsPerSecond"));
console.log("http", col(rh,"cpuMicroseconds"), col(rh,"heartbeatsPerSecond"));
console.log("bare", col(rb,"cpuMicroseconds"), col(rb,"heartbeatsPerSecond"));
const r=(x:any[],y:any[],k:string)=>median(x.map((v,i)=>v[k]/y[i][k])).toFixed(3);
console.log("cpu/http", r(rs,rh,"cpuMicroseconds"), "rate/http", r(rs,rh,"heartbeatsPerSecond"), "cpu/bare", r(rs,rb,"cpuMicroseconds"), "rate/bare", r(rs,rb,"heartbeatsPerSecond"));
} finally { for (const x of stops.reverse()) await x(); }
