// Status patches on the embedded apiserver, as the Worker makes them: heartbeat times of four conditions.
import { type Fleet, renewTime, requestsPerSecond } from "./apiserver.ts";
import type { Benchmark } from "./benchmark.ts";

export const apiserverStatus: Benchmark = {
  name: "apiserver-status",
  what: "apiserver, status patches with 2,000 nodes",
  unit: "/s",
  budget: 500,
  atLeast: true,
  measure: () => requestsPerSecond(patches),
};

const conditions = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"];
const secondsOnly = 19;

function patches({ nodes, send }: Fleet): Promise<(run: number) => Promise<unknown>> {
  const patch = (run: number) => {
    const lastHeartbeatTime = `${renewTime(run * 1000).slice(0, secondsOnly)}Z`;
    const status = { conditions: conditions.map((type) => ({ type, lastHeartbeatTime })) };
    const path = `/api/v1/nodes/${nodes[run % nodes.length]}/status`;
    return send("PATCH", path, { status }, "application/strategic-merge-patch+json");
  };
  return Promise.resolve(patch);
}
